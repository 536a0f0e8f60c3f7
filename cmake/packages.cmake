# Configures cpack, which makes a tarball and a Debian package of each component: autodist, one static
# program without dependencies, and the worker library.
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_VENDOR autodist)
set(CPACK_PACKAGE_CONTACT "autodist <autodist@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # would precede each description
set(CPACK_PACKAGE_FILE_NAME ${PROJECT_NAME}-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL autodist worker-library)
set(CPACK_COMPONENTS_GROUPING IGNORE)
# Tarballs have a top-level folder, packages do not.
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/CPackProjectConfig.cmake)
file(CONFIGURE OUTPUT ${CPACK_PROJECT_CONFIG_FILE} @ONLY CONTENT
"if(CPACK_GENERATOR STREQUAL TGZ)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
")
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_AUTODIST_FILE_NAME ${CPACK_PACKAGE_FILE_NAME})
set(CPACK_ARCHIVE_WORKER-LIBRARY_FILE_NAME lib${PROJECT_NAME}-dev-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_AUTODIST_PACKAGE_NAME autodist)
set(CPACK_DEBIAN_AUTODIST_PACKAGE_SECTION net)
set(CPACK_DEBIAN_AUTODIST_PACKAGE_RECOMMENDS openssh-client)
set(CPACK_DEBIAN_AUTODIST_DESCRIPTION
"Runs one training program on every device of many machines
A launcher for distributed training: it reaches the machines by SSH, starts
one rank on each device, shows their output, and cleans up after the job.
Nothing has to be installed on the other machines.")
set(CPACK_DEBIAN_WORKER-LIBRARY_PACKAGE_NAME libautodist-dev)
set(CPACK_DEBIAN_WORKER-LIBRARY_PACKAGE_SECTION libdevel)
# Requires this exact version: Gloo changes its ABI without a new soname.
execute_process(COMMAND dpkg-query -W -f \${Version} libgloo-dev OUTPUT_VARIABLE gloo ERROR_QUIET)
string(REGEX REPLACE "-[^-]*$" "" gloo "${gloo}")
set(CPACK_DEBIAN_WORKER-LIBRARY_PACKAGE_DEPENDS
  "libgloo-dev (>= ${gloo}), libgloo-dev (<< ${gloo}+~)")
set(CPACK_DEBIAN_WORKER-LIBRARY_PACKAGE_SUGGESTS autodist)
set(CPACK_DEBIAN_WORKER-LIBRARY_DESCRIPTION
"For trainers in C++ that autodist starts
Headers, a static library, and files for CMake and pkg-config. A program gets
its rank, finds the other ranks, and sums gradients over all of them.")
include(CPack)
