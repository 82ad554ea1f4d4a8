# The four kinds of target zc has. Include paths begin at the repository's root,
# so the first word of an #include names the room it comes from.

# add_zc_library(NAME SOURCES... DEPS targets...): no MLIR, no LLVM.
function(add_zc_library name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
endfunction()

# add_zc_mlir_library(NAME SOURCES... DEPS targets...): may use MLIR and LLVM,
# through the shared libMLIR.so and libLLVM.so alone.
function(add_zc_mlir_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "DEPS;TABLEGEN" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  zc_use_mlir(${name} PUBLIC)
  if(ARG_TABLEGEN)
    add_dependencies(${name} ${ARG_TABLEGEN})
  endif()
  if(NOT ARG_NO_PCH)
    zc_use_mlir_pch(${name})
  endif()
  zc_compile_together(${name} ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# MLIR and LLVM for a target, and, if `scope` is PUBLIC, for whoever links it.
function(zc_use_mlir name scope)
  target_include_directories(${name} SYSTEM ${scope} ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${name} ${scope} ${LLVM_DEFINITIONS_LIST})
  target_link_libraries(${name} ${scope} MLIR LLVM)
  zc_build_quickly(${name})
endfunction()

# Compiles eight files at a time: parsing MLIR's headers and instantiating its
# templates takes most of a file's time. Files that open a namespace whose names
# also stand in those that the others open are compiled alone.
function(zc_compile_together name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${ZC_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  foreach(source ${ARGN})
    file(STRINGS ${source} opened REGEX "^using namespace (llvm|zc::sched);")
    if(opened)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# For fuzzing, MLIR's templates are not optimized: they would take Clang three
# times as long, and libMLIR itself, which does most of the work, is.
function(zc_build_quickly name)
  if(ZC_FUZZ)
    target_compile_options(${name} PRIVATE -O0 -g0)
  endif()
endfunction()

# One precompiled header of MLIR's core and of the dialects that kernels are
# built of serves every MLIR target: parsing these takes longer than compiling
# most of zc's files (a file that includes linalg: 6.2 s without it, 2.2 with).
function(zc_use_mlir_pch name)
  if(NOT TARGET zc_mlir_pch)
    # Unlike file(WRITE), this leaves alone what is right.
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/tools/cmake/zc_mlir_pch.cpp CONTENT "")
    add_library(zc_mlir_pch OBJECT ${PROJECT_BINARY_DIR}/tools/cmake/zc_mlir_pch.cpp)
    target_include_directories(zc_mlir_pch SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
    set(headers
      <string> <vector> <memory> <functional>
      <llvm/ADT/StringExtras.h> <llvm/ADT/TypeSwitch.h> <llvm/ADT/MapVector.h> <llvm/ADT/SetVector.h>
      <llvm/Support/raw_ostream.h>
      <mlir/IR/Builders.h> <mlir/IR/BuiltinAttributes.h> <mlir/IR/BuiltinOps.h>
      <mlir/IR/BuiltinTypes.h> <mlir/IR/Dialect.h> <mlir/IR/DialectImplementation.h>
      <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h> <mlir/IR/IRMapping.h>
      <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Interfaces/InferTypeOpInterface.h>
      <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Pass/Pass.h> <llvm/ADT/StringSwitch.h>
      <mlir/Dialect/Affine/IR/AffineOps.h> <mlir/Dialect/Arith/IR/Arith.h>
      <mlir/Dialect/Linalg/IR/Linalg.h> <mlir/Dialect/Math/IR/Math.h>
      <mlir/Dialect/MemRef/IR/MemRef.h> <mlir/Dialect/SCF/IR/SCF.h>)
    target_precompile_headers(zc_mlir_pch PRIVATE ${headers})
    zc_build_quickly(zc_mlir_pch)
    # ccache identifies the precompiled header by this sum. Hashing its 600 MB
    # would take longer than compiling most files.
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/zc_mlir_pch.dir/cmake_pch.hxx.gch.sum
      "MLIR ${LLVM_PACKAGE_VERSION}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, "
      "${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS} ${ZC_SANITIZE}: ${headers}\n")
  endif()
  target_precompile_headers(${name} REUSE_FROM zc_mlir_pch)
endfunction()

# The sanitizers' settings, in each program that is built with them.
function(zc_set_sanitizers name)
  if(ZC_SANITIZE AND NOT TARGET zc_sanitizer_options)
    add_library(zc_sanitizer_options OBJECT ${PROJECT_SOURCE_DIR}/tools/cmake/SanitizerOptions.cpp)
  endif()
  if(ZC_SANITIZE)
    target_link_libraries(${name} PRIVATE zc_sanitizer_options)
  endif()
endfunction()

# add_zc_executable(NAME SOURCES... DEPS targets...)
function(add_zc_executable name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  zc_set_sanitizers(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

# zc_launcher(VARIABLE TARGET): the path by which a shell starts the program: its
# own, or that of a script that asks the emulator where it is for another processor.
function(zc_launcher variable target)
  set(path $<TARGET_FILE:${target}>)
  if(CMAKE_CROSSCOMPILING)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    set(script ${PROJECT_BINARY_DIR}/emulated/${target})
    file(GENERATE OUTPUT ${script} CONTENT "#!/bin/sh\nexec ${emulator} '${path}' \"$@\"\n"
         FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    set(path ${script})
  endif()
  set(${variable} ${path} PARENT_SCOPE)
endfunction()

# add_zc_test(NAME SOURCES... DEPS targets...): a GoogleTest program, one ctest entry.
# All that are labelled fast take two minutes together on two cores. In folders
# with ZC_TESTS_USE_MLIR it has MLIR's precompiled header.
function(add_zc_test name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  zc_set_sanitizers(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  if(ZC_TESTS_USE_MLIR)
    zc_use_mlir(${name} PRIVATE)
    # As MLIR's precompiled header was compiled: programs are by default -fPIE.
    target_compile_options(${name} PRIVATE -fPIC)
    zc_use_mlir_pch(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "unit;fast" ENVIRONMENT "${ZC_TEST_ENVIRONMENT}")
endfunction()

# zc_reference(TARGET file.td -gen-x out ...): what zc_tablegen is told of a file
# with a dialect, with ops or with passes makes a page of the generated reference,
# too: docs/ of the build tree has them, the target `docs` writes them.
function(zc_reference target td)
  set(actions ${ARGN})
  list(FILTER actions INCLUDE REGEX "^-gen-(dialect|op|pass)-decls")
  if(NOT actions)
    return()
  endif()
  list(SORT actions) # the page of a dialect has its ops
  list(GET actions 0 action)
  string(REPLACE "-decls" "-doc" action ${action})
  string(REGEX REPLACE "[|]-name=.*" "" action ${action})
  string(REPLACE "|" ";" action ${action})
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${td})
  file(RELATIVE_PATH page ${PROJECT_SOURCE_DIR} ${source})
  string(REGEX REPLACE "[.]td$" ".md" page ${PROJECT_BINARY_DIR}/docs/${page})
  get_filename_component(folder ${page} DIRECTORY)
  set(includes ${PROJECT_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
  list(TRANSFORM includes PREPEND -I)
  add_custom_command(OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${MLIR_TABLEGEN_EXE} ${action} ${includes} -d ${page}.d -o ${page} ${source}
    DEPENDS ${source} DEPFILE ${page}.d)
  if(NOT TARGET docs)
    add_custom_target(docs ALL)
  endif()
  add_custom_target(docs-${target} DEPENDS ${page})
  add_dependencies(docs docs-${target})
endfunction()

# zc_tablegen(TARGET file.td -gen-x out -gen-y out ...): mlir-tblgen into the same
# folder of the build tree.
function(zc_tablegen target td)
  zc_reference(${target} ${td} ${ARGN})
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(args ${ARGN})
  while(args)
    list(POP_FRONT args action output)
    string(REPLACE "|" ";" action "${action}")
    mlir_tablegen(${output} ${action} EXTRA_INCLUDES ${PROJECT_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()
