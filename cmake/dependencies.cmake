# External libraries, and autodist::grpc: gRPC without TLS, because its connections are inside SSH or
# unix sockets.
set(AUTODIST_DEPS ${PROJECT_SOURCE_DIR}/build/deps CACHE PATH "The libraries of setup/sources.sh")
find_package(Threads REQUIRED)
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL REQUIRED)
find_package(Protobuf REQUIRED)  # module mode: Debian ships no package configuration
find_package(gRPC CONFIG REQUIRED)
find_package(absl CONFIG REQUIRED)
find_path(yaml_cpp_include yaml-cpp/yaml.h REQUIRED)
find_library(yaml_cpp_archive libyaml-cpp.a REQUIRED)
add_library(autodist_yaml_cpp INTERFACE)
target_include_directories(autodist_yaml_cpp SYSTEM INTERFACE ${yaml_cpp_include})
target_link_libraries(autodist_yaml_cpp INTERFACE ${yaml_cpp_archive})

find_path(spdlog_include spdlog/spdlog.h REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

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
add_library(autodist_spdlog INTERFACE)
target_include_directories(autodist_spdlog SYSTEM INTERFACE ${spdlog_include})
target_compile_definitions(autodist_spdlog INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)

find_path(sodium_include sodium.h REQUIRED)
find_library(sodium_archive libsodium.a REQUIRED)
add_library(autodist_sodium INTERFACE)
target_include_directories(autodist_sodium SYSTEM INTERFACE ${sodium_include})
target_link_libraries(autodist_sodium INTERFACE ${sodium_archive})

# Header-only, from setup/sources.sh: the distribution's needs a shared library.
find_path(httplib_folder httplib.h PATHS ${AUTODIST_DEPS}/include NO_DEFAULT_PATH
          REQUIRED)
add_library(autodist_httplib INTERFACE)
target_include_directories(autodist_httplib SYSTEM INTERFACE ${httplib_folder})
# An agent with many ranks has more descriptors than select() supports.
target_compile_definitions(autodist_httplib INTERFACE CPPHTTPLIB_USE_POLL)

find_path(zstd_include zstd.h REQUIRED)
find_library(zstd_archive libzstd.a REQUIRED)
add_library(autodist_zstd INTERFACE)
target_include_directories(autodist_zstd SYSTEM INTERFACE ${zstd_include})
target_link_libraries(autodist_zstd INTERFACE ${zstd_archive})

add_library(autodist_grpc INTERFACE)
add_library(autodist::grpc ALIAS autodist_grpc)
add_library(autodist::absl ALIAS autodist_grpc)  # comes with gRPC
if(AUTODIST_SANITIZE)
  # Shared, so that a sanitizer can distinguish our code from theirs.
  target_link_libraries(autodist_grpc INTERFACE
    gRPC::grpc++_unsecure protobuf::libprotobuf absl::status absl::statusor absl::cord)
else()
  # Static: the agent must run anywhere, and the command starts 6 ms faster.
  file(GLOB absl_archives /usr/lib/*/libabsl_*.a)
  set(grpc_archives "")
  foreach(name grpc++_unsecure grpc_unsecure gpr address_sorting upb cares re2 protobuf z)
    find_library(archive_${name} NAMES lib${name}.a REQUIRED)
    list(APPEND grpc_archives ${archive_${name}})
  endforeach()
  list(APPEND grpc_archives ${absl_archives})
  list(JOIN grpc_archives "," joined)
  target_link_libraries(autodist_grpc INTERFACE "$<LINK_GROUP:RESCAN,${joined}>" Threads::Threads)
endif()

# The re2 of gRPC, whose archive is among those of gRPC.
find_path(re2_include re2/re2.h REQUIRED)
add_library(autodist_re2 INTERFACE)
target_include_directories(autodist_re2 SYSTEM INTERFACE ${re2_include})
if(AUTODIST_SANITIZE)
  find_library(re2_library re2 REQUIRED)
  target_link_libraries(autodist_re2 INTERFACE ${re2_library})
else()
  target_link_libraries(autodist_re2 INTERFACE autodist::grpc)
endif()

# For the agent, static unless sanitized: archives, and stubs of the libraries that they expect.
find_path(hwloc_include hwloc.h REQUIRED)
find_path(pmix_include pmix_server.h PATH_SUFFIXES lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2/include
          REQUIRED)
if(AUTODIST_SANITIZE)
  set(link shared)
  set(hwloc_names hwloc)
  set(pmix_names pmix)
else()
  set(link static)
  set(hwloc_names libhwloc.a)
  set(pmix_names libpmix.a)
  add_library(autodist_absent_libraries STATIC ${PROJECT_SOURCE_DIR}/agent/absent_libraries.cc)
endif()
find_library(hwloc_library_${link} NAMES ${hwloc_names} REQUIRED)
find_library(pmix_library_${link} NAMES ${pmix_names} PATH_SUFFIXES pmix2/lib REQUIRED)

add_library(hwloc::hwloc UNKNOWN IMPORTED)
set_target_properties(hwloc::hwloc PROPERTIES
  IMPORTED_LOCATION ${hwloc_library_${link}}
  INTERFACE_INCLUDE_DIRECTORIES ${hwloc_include})
add_library(pmix::pmix UNKNOWN IMPORTED)
set_target_properties(pmix::pmix PROPERTIES
  IMPORTED_LOCATION ${pmix_library_${link}}
  INTERFACE_INCLUDE_DIRECTORIES ${pmix_include})
if(NOT AUTODIST_SANITIZE)
  find_library(event_core_archive NAMES libevent_core.a REQUIRED)
  find_library(event_pthreads_archive NAMES libevent_pthreads.a REQUIRED)
  find_library(archive_z NAMES libz.a REQUIRED)
  set_property(TARGET hwloc::hwloc PROPERTY INTERFACE_LINK_LIBRARIES autodist_absent_libraries)
  set_property(TARGET pmix::pmix PROPERTY INTERFACE_LINK_LIBRARIES
    hwloc::hwloc ${event_pthreads_archive} ${event_core_archive} ${archive_z}
    autodist_absent_libraries Threads::Threads)
endif()
