include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(Gloo)
include(${CMAKE_CURRENT_LIST_DIR}/autodistTargets.cmake)
