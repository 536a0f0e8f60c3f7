# autodist_precompiled(NAME targets... HEADERS headers...): precompiles external headers that most files
# include, for target_precompile_headers(TARGET REUSE_FROM NAME).
function(autodist_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS")
  file(CONFIGURE OUTPUT ${name}.cc CONTENT "")
  add_library(${name} STATIC ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE autodist::grpc ${arg_UNPARSED_ARGUMENTS})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <chrono> <filesystem> <functional> <map> <memory> <mutex> <optional> <string>
    <thread> <vector> <google/protobuf/util/json_util.h> <grpcpp/grpcpp.h> ${arg_HEADERS})
endfunction()
autodist_precompiled(autodist_headers)
autodist_precompiled(autodist_message_headers autodist::proto
  HEADERS <autodist/v1/agent.grpc.pb.h> <autodist/v1/job.pb.h> <autodist/v1/job_request.pb.h>
          <autodist/v1/snapshot.pb.h>)

# autodist_module(NAME SOURCES files... DEPENDS targets... PRIVATE targets...)
#
# Defines the library autodist_NAME, alias autodist::NAME, from these files, or all in this folder.
# Includes are relative to src/ and include/; those of the agent to the top folder.
function(autodist_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;PRIVATE")
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  endif()
  add_library(autodist_${name} STATIC ${arg_SOURCES})
  add_library(autodist::${name} ALIAS autodist_${name})
  target_include_directories(autodist_${name}
    PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  if(name MATCHES ^agent_)
    target_include_directories(autodist_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  endif()
  target_compile_features(autodist_${name} PUBLIC cxx_std_20)
  # autodist::grpc: for the flags of the precompiled headers.
  target_link_libraries(autodist_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE} autodist::grpc)
  set(headers autodist_headers)
  if(autodist::proto IN_LIST arg_DEPENDS)
    set(headers autodist_message_headers)
  endif()
  target_precompile_headers(autodist_${name} REUSE_FROM ${headers})
endfunction()
