#include "base/hint_without_spec.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(HintWithoutSpecTest, OffersOnlyWhatTheUserHas) {
  struct Row {
    const char* hint;
    const char* expected;
  };
  const Row rows[] = {
      {"install it, or put its folder in PATH with python_venv or shared_envs",
       "install it, or put its folder in PATH"},
      {"start sshd on the node, or correct the port: `port` in the spec, or Port in ~/.ssh/config",
       "start sshd on the node, or correct the port: Port in ~/.ssh/config"},
      {"give another user or key (User or IdentityFile in ~/.ssh/config, `username` or key_file in "
       "the spec); if it is there, check AllowUsers",
       "give another user or key (User or IdentityFile in ~/.ssh/config); if it is there, check "
       "AllowUsers"},
      {"load a key with ssh-add, or name one: key_file in the spec, or IdentityFile in "
       "~/.ssh/config",
       "load a key with ssh-add, or name one: IdentityFile in ~/.ssh/config"},
      {"behind a gateway, set proxy_jump in the spec, or ProxyJump in ~/.ssh/config",
       "behind a gateway, set ProxyJump in ~/.ssh/config"},
      {"set `username: ann` in the spec, or write ann@gpu1 in --hosts",
       "log in as `ann`: write ann@gpu1 in --hosts"},
      {"correct the name in the spec or --hosts, or give the IP address",
       "correct the name in --hosts, or give the IP address"},
      {"add its folder to LD_LIBRARY_PATH, with --env or shared_envs",
       "add its folder to LD_LIBRARY_PATH, with --env"},
      {"give it as data_address in the spec",
       "give it as data_address in a spec, which `autodist init` writes"},
      {"make it executable (chmod +x) on this node", "make it executable (chmod +x) on this node"},
      {"", ""},
  };
  for (const Row& row : rows) EXPECT_EQ(HintWithoutSpec(row.hint), row.expected);
}

}  // namespace
}  // namespace autodist::base
