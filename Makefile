# The front door: `make demo` shows it, `make check` tests it. Both install what they need.
.PHONY: build demo check bench
BUILD = cmake --preset $(1) >/dev/null && cmake --build --preset $(1)

build:
	@setup/packages.sh
	@setup/libssh2.sh build/deps
	@$(call BUILD,release)

demo: build
	examples/virtual_cluster/virtual_cluster 3 --ranks 2 -- \
	  build/bin/autodist run --spec {spec} -- build/bin/train_digits

check: build
	@setup/packages.sh check
	ctest --preset release
	@$(call BUILD,asan) && ctest --preset asan
	@$(call BUILD,tsan) && ctest --preset tsan
	tests/style

bench: build
	@setup/packages.sh check
	tests/bench/launch
