# autodist_module(NAME SOURCES files... DEPENDS targets... PRIVATE targets...)
#
# The library autodist_NAME, known to others as autodist::NAME. Includes are written from src/ and
# from include/.
function(autodist_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;PRIVATE")
  add_library(autodist_${name} STATIC ${arg_SOURCES})
  add_library(autodist::${name} ALIAS autodist_${name})
  target_include_directories(autodist_${name}
    PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_features(autodist_${name} PUBLIC cxx_std_20)
  target_link_libraries(autodist_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE})
endfunction()
