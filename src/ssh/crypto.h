// The cryptography settings of this program.
#pragma once

namespace autodist::ssh {

// Call at program start. Makes OpenSSL ignore the machine's openssl.cnf, which may name modules for
// another build of OpenSSL.
void UseBuiltInCrypto();

}  // namespace autodist::ssh
