# External libraries: archives if AUTODIST_STATIC, shared libraries otherwise.
set(AUTODIST_DEPS ${PROJECT_SOURCE_DIR}/build/deps CACHE PATH "The libraries of setup/sources.sh")
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
set(OPENSSL_USE_STATIC_LIBS ${AUTODIST_STATIC})
find_package(OpenSSL REQUIRED)
find_package(Protobuf REQUIRED)  # module mode: Debian ships no package configuration
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

# autodist_external(NAME MODULES modules of pkg-config... ARCHIVES names...): defines the library
# autodist_NAME. ARCHIVES are those that a static program needs and that the modules do not list.
function(autodist_external name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "MODULES;ARCHIVES")
  pkg_check_modules(external_${name} REQUIRED IMPORTED_TARGET ${arg_MODULES})
  if(NOT AUTODIST_STATIC)
    add_library(autodist_${name} INTERFACE)
    target_link_libraries(autodist_${name} INTERFACE PkgConfig::external_${name})
    return()
  endif()
  set(names ${external_${name}_STATIC_LIBRARIES} ${arg_ARCHIVES})
  list(REMOVE_DUPLICATES names)
  list(REMOVE_ITEM names m pthread udev)  # glibc's, and one that agent/absent_libraries.cc replaces
  set(archives "")
  foreach(archive IN LISTS names)
    find_library(archive_${archive} lib${archive}.a PATHS ${external_${name}_STATIC_LIBRARY_DIRS} REQUIRED)
    list(APPEND archives ${archive_${archive}})
  endforeach()
  list(POP_FRONT archives first)
  add_library(autodist_${name} UNKNOWN IMPORTED)
  set_target_properties(autodist_${name} PROPERTIES
    IMPORTED_LOCATION ${first}
    INTERFACE_INCLUDE_DIRECTORIES "${external_${name}_INCLUDE_DIRS}")
  target_link_libraries(autodist_${name} INTERFACE Threads::Threads)
  if(archives)
    list(JOIN archives "," others)
    target_link_libraries(autodist_${name} INTERFACE "$<LINK_GROUP:RESCAN,${others}>")
  endif()
endfunction()
autodist_external(expat MODULES expat)
autodist_external(re2 MODULES re2)
autodist_external(sodium MODULES libsodium)
autodist_external(yaml_cpp MODULES yaml-cpp)
autodist_external(zstd MODULES libzstd)

# gRPC without TLS, because its connections are inside SSH or unix sockets. Static, the agent runs
# anywhere, and the command starts 6 ms faster. Shared, a sanitizer distinguishes our code from theirs.
find_package(gRPC CONFIG REQUIRED)
add_library(autodist_grpc INTERFACE)
set(targets gRPC::grpc++_unsecure protobuf::libprotobuf absl::status absl::statusor absl::cord)
if(AUTODIST_STATIC)
  # The archives beside the shared libraries that gRPC's package lists.
  set(grpc_archives "")
  set(seen "")
  while(targets)
    list(POP_FRONT targets target)
    if(NOT TARGET ${target} OR target IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${target})
    get_target_property(uses ${target} INTERFACE_LINK_LIBRARIES)
    if(uses)
      list(APPEND targets ${uses})
    endif()
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL INTERFACE_LIBRARY)
      continue()
    endif()
    get_target_property(file ${target} LOCATION)
    cmake_path(GET file FILENAME file)
    string(REGEX REPLACE "[.](so|a)([.].*)?$" ".a" file ${file})
    find_library(archive_${file} ${file} REQUIRED)
    list(APPEND grpc_archives ${archive_${file}})
  endwhile()
  list(JOIN grpc_archives "," joined)
  target_link_libraries(autodist_grpc INTERFACE "$<LINK_GROUP:RESCAN,${joined}>" Threads::Threads)
else()
  target_link_libraries(autodist_grpc INTERFACE ${targets})
endif()
add_library(autodist::grpc ALIAS autodist_grpc)
add_library(autodist::absl ALIAS autodist_grpc)  # comes with gRPC

# For the agent. A static program has stubs of the libraries that hwloc and PMIx expect.
autodist_external(hwloc MODULES hwloc)
if(AUTODIST_MPI)
  autodist_external(pmix MODULES pmix ARCHIVES event_pthreads event_core z)
  target_link_libraries(autodist_pmix INTERFACE autodist_hwloc)
endif()
if(AUTODIST_STATIC)
  add_library(autodist_absent_libraries STATIC ${PROJECT_SOURCE_DIR}/agent/absent_libraries.cc)
  target_link_libraries(autodist_hwloc INTERFACE autodist_absent_libraries)
endif()

# From setup/sources.sh if the distribution's is too old: 1.10 cannot use RSA keys with SHA-2.
find_library(libssh2_library NAMES libssh2.a ssh2 PATHS ${AUTODIST_DEPS}/lib
             NO_DEFAULT_PATH)
find_library(libssh2_library NAMES ssh2 REQUIRED)
find_path(libssh2_include libssh2.h PATHS ${AUTODIST_DEPS}/include NO_DEFAULT_PATH)
find_path(libssh2_include libssh2.h REQUIRED)
file(STRINGS ${libssh2_include}/libssh2.h libssh2_version REGEX "define LIBSSH2_VERSION +\"")
string(REGEX REPLACE ".*\"([0-9.]+).*" "\\1" libssh2_version "${libssh2_version}")
if(libssh2_version VERSION_LESS 1.11.1)
  message(FATAL_ERROR "libssh2 ${libssh2_version} is too old; run `setup/sources.sh build/deps`")
endif()
add_library(libssh2::libssh2 UNKNOWN IMPORTED)
set_target_properties(libssh2::libssh2 PROPERTIES
  IMPORTED_LOCATION ${libssh2_library}
  INTERFACE_INCLUDE_DIRECTORIES ${libssh2_include}
  INTERFACE_LINK_LIBRARIES OpenSSL::Crypto)

# Header-only, so that the static agent links no library for it.
find_path(spdlog_include spdlog/spdlog.h REQUIRED)
add_library(autodist_spdlog INTERFACE)
target_include_directories(autodist_spdlog SYSTEM INTERFACE ${spdlog_include})
target_compile_definitions(autodist_spdlog INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)

# Header-only, from setup/sources.sh: the distribution's needs a shared library.
find_path(httplib_folder httplib.h PATHS ${AUTODIST_DEPS}/include NO_DEFAULT_PATH
          REQUIRED)
add_library(autodist_httplib INTERFACE)
target_include_directories(autodist_httplib SYSTEM INTERFACE ${httplib_folder})
# An agent with many ranks has more descriptors than select() supports.
target_compile_definitions(autodist_httplib INTERFACE CPPHTTPLIB_USE_POLL)
