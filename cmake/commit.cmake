# autodist_commit: the commit that is built, "unknown" outside of a clone. Configures again after each commit.
set(AUTODIST_COMMIT "" CACHE STRING "The commit, where git cannot be asked for it")
set(autodist_commit unknown)
find_package(Git QUIET)
if(AUTODIST_COMMIT)
  set(autodist_commit ${AUTODIST_COMMIT})
elseif(GIT_FOUND)
  set(git ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} -c safe.directory=* rev-parse)
  execute_process(COMMAND ${git} --short=12 HEAD OUTPUT_VARIABLE commit RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(autodist_commit ${commit})
    execute_process(COMMAND ${git} --path-format=absolute --git-path logs/HEAD OUTPUT_VARIABLE log
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(EXISTS ${log})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
    endif()
  endif()
endif()
