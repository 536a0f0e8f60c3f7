#include "ssh/crypto.h"

#include <openssl/crypto.h>

namespace autodist::ssh {

void UseBuiltInCrypto() { OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr); }

}  // namespace autodist::ssh
