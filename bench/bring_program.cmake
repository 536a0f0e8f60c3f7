# Copies PROGRAM into FOLDER, with the libraries that it needs, under the names in its dependencies.
# glibc's libraries and loader, which belong together, go to FOLDER/glibc.
set(glibc "^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv)\\.so.*)$")
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${PROGRAM}
  RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR missing
  # These must match the node's driver.
  PRE_EXCLUDE_REGEXES "^lib(nccl|cuda|cudart)\\.so")
if(missing)
  message(FATAL_ERROR "not found: ${missing}")
endif()
foreach(library IN LISTS PROGRAM libraries)
  cmake_path(GET library FILENAME name)
  if(name MATCHES "${glibc}")
    configure_file(${library} ${FOLDER}/glibc/${name} COPYONLY)
  else()
    configure_file(${library} ${FOLDER}/${name} COPYONLY)
  endif()
endforeach()
