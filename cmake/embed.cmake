# autodist_embed(NAMESPACE FUNCTION files...): defines autodist::NAMESPACE::FUNCTION(), which returns the
# content of these files (base/embedded_file.h). A header of the module declares it. Sets
# ${FUNCTION_sources}.
function(autodist_embed namespace function)
  set(assembly ".section .note.GNU-stack, \"\", %progbits\n.section .rodata\n")
  set(declarations "")
  set(rows "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file)
    cmake_path(GET file FILENAME name)
    string(MAKE_C_IDENTIFIER "autodist_${namespace}_${name}" symbol)
    string(APPEND assembly ".global ${symbol}\n${symbol}: .incbin \"${file}\"\n"
                           ".global ${symbol}_end\n${symbol}_end:\n")
    string(APPEND declarations "extern \"C\" const char ${symbol}[], ${symbol}_end[];\n")
    string(APPEND rows "      {\"${name}\", {${symbol}, ${symbol}_end}},\n")
    list(APPEND paths ${file})
  endforeach()
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${function})
  file(CONFIGURE OUTPUT ${made}.S CONTENT "${assembly}" @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded_files.cc.in ${made}.cc @ONLY)
  set_source_files_properties(${made}.S PROPERTIES OBJECT_DEPENDS "${paths}")
  set(${function}_sources ${made}.S ${made}.cc PARENT_SCOPE)
endfunction()
