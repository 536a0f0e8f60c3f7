# What `cpack` makes of the install rules: a tarball and a package for Debian, of one static program,
# which depends on nothing.
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_VENDOR autodist)
set(CPACK_PACKAGE_CONTACT "autodist <autodist@localhost>")
set(CPACK_PACKAGE_FILE_NAME ${PROJECT_NAME}-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openssh-client)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Runs one training program on every device of many machines
 A launcher for distributed training: it reaches the machines by SSH, starts one rank on
 each device, shows what they write, and stays responsible until nothing of the job is left.
 Nothing has to be installed on the other machines.")
include(CPack)
