// The cryptography of this program.
#pragma once

namespace autodist::ssh {

// For a program's start. OpenSSL does as it was built, whatever the machine's openssl.cnf says: the
// modules that such a file may name are made for another build of it.
void UseBuiltInCrypto();

}  // namespace autodist::ssh
