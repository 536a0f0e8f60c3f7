# Copies PROGRAM into FOLDER, and the libraries that it needs under the names by which it asks for them.
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${PROGRAM}
  RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR missing
  # glibc's own must fit the node's kernel and loader; NCCL's and CUDA's, its driver.
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)\\.so" "^lib(nccl|cuda|cudart)\\.so")
if(missing)
  message(FATAL_ERROR "not found: ${missing}")
endif()
foreach(library IN LISTS PROGRAM libraries)
  get_filename_component(name ${library} NAME)
  configure_file(${library} ${FOLDER}/${name} COPYONLY)
endforeach()
