# The front door: `make demo` shows it, `make check` tests it. Both install what they need.
.PHONY: docs packages programs install install-worker-library release demo check check-full check-frameworks bench

packages:
	@setup/packages.sh
	@setup/sources.sh build/deps

programs: packages
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target autodist_share train_digits
	@echo 'built $(CURDIR)/build/bin/autodist; to install it: make install, or make install PREFIX=$$HOME/.local'

# Below PREFIX: bin/autodist, and in share/ what shells and man need.
PREFIX = /usr/local
install: programs
	@DESTDIR=$(DESTDIR) cmake --install build --strip --prefix $(PREFIX) --component autodist

# Below PREFIX: what a trainer in C++ is compiled with, docs/how-to/write_a_cpp_trainer.md.
install-worker-library: packages
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target autodist_worker
	@DESTDIR=$(DESTDIR) cmake --install build --prefix $(PREFIX) --component worker-library

# In dist/: autodist as a file, as a tarball, and as packages for Debian and for Python; the worker
# library as a tarball and as a package for Debian. The same sources make the same bytes. MACHINES: other
# kinds of machines to make the same for, each built in a separate root directory, which needs root.
MACHINES = aarch64
release: packages
	@setup/packages.sh release
	@MACHINES="$(MACHINES)" setup/release.sh

demo: programs
	examples/virtual_cluster/virtual_cluster 3 --ranks 2 -- \
	  build/bin/autodist run --spec {spec} -- build/bin/train_digits

# What a change must pass, in 20 minutes.
check: packages
	@setup/packages.sh check
	@setup/test_tools.sh build/tools
	tests/check

# All tests but those with the frameworks of PyPI, in an hour.
check-full: packages
	@setup/packages.sh check-full
	@setup/test_tools.sh build/tools
	tests/check --full

# PyTorch, PaddlePaddle, MindSpore, JAX, TensorFlow, ... from PyPI: 12 GB in build/frameworks, unless
# they are in $(FRAMEWORKS) already.
check-frameworks: programs
	@setup/packages.sh frameworks
	tests/cluster/frameworks/check $(if $(FRAMEWORKS),--environments $(FRAMEWORKS))

bench: programs
	@setup/packages.sh check
	tests/bench/launch
	tests/bench/faults
	tests/bench/collectives

# The site in build/site, with MkDocs Material from PyPI.
docs:
	@setup/packages.sh docs
	@test -x build/docs-tools/bin/mkdocs || python3 -m venv build/docs-tools
	@build/docs-tools/bin/pip install --quiet --disable-pip-version-check -r setup/docs_requirements.txt
	NO_MKDOCS_2_WARNING=1 build/docs-tools/bin/mkdocs build --strict --quiet
