# Compiler flags, ccache, sanitizers: what every target shares.
find_program(ZC_CCACHE ccache)
if(ZC_CCACHE)
  # Relative paths and tolerant precompiled headers let fresh clones hit the cache.
  set(zc_launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${ZC_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${zc_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${zc_launcher})
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # ccache needs it to hash through a precompiled header.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
if(ZC_SANITIZE)
  # Types of libraries that are built without them are not looked at.
  add_compile_options(-fsanitize=${ZC_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ZC_SANITIZE})
  # Suppressions for libraries that are not built with it: Open MPI's locks.
  set(ZC_TEST_ENVIRONMENT
      "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/test/tsan-suppressions.txt")
endif()
if(ZC_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    message(FATAL_ERROR "ZC_FUZZ needs Clang, which has libFuzzer: install Debian's clang-14")
  endif()
  # Not looked for: types (above) and functions of libraries that are built without
  # the sanitizers.
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize=function)
endif()
if(ZC_SANITIZE OR ZC_FUZZ) # an undefined operation is a finding, as a crash is
  add_compile_options(-fno-sanitize-recover=all)
endif()
