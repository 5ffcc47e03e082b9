# add_lesson(NN_name [NOT_IN_CTEST])
#
# Makes of lessons/NN_name, solutions/NN_name and tests/NN_name, below the current folder:
#
#   solution_NN        the reference as a library; part of the library `attn`
#   lesson_NN          the checks linked with the learner's files
#   sanitized_NN       the same with sanitizers in the learner's files, for `./learn check NN --asan`
#   interview_NN       the checks linked with what is in .learn/interview/NN_name: an interview's blank page
#   solution_NN_test   the same checks linked with the reference
#   demo_NN            where there is a programs/demo/NN_name.cpp: a program that shows what the learner wrote at work
#   demo_NN_solution   the same program with the reference
#   verify_NN          for authors: all of the lesson that `./learn verify --lesson NN` runs
#
# The checks are compiled once, as checks_NN; what every program of theirs links is judged_NN.
#
# A lesson builds on the solutions of the lessons whose headers it includes, itself or through other headers: never on the
# learner's earlier files, so that lessons can be done in any order. attn/x.hpp belongs to the lesson whose solution has x.cpp,
# or, where there is a given/x.cpp, to no lesson: then attn_given is linked.
#
# Where tests/NN_name/adapter.cpp exists, the learner writes a whole class in lessons/NN_name/*.hpp. The checks see it
# through the adapter, the only file that is compiled with the learner's header (tools/checks/blank_class.hpp).
#
# NOT_IN_CTEST builds a lesson without making it part of the course: the tests of the gate plant such lessons.
#
# In ctest: lesson.NN_name.Suite.Check for the learner; for authors judged.NN_name, or solution.NN_name where the gate is not
# built.
include(GoogleTest)
include(AddMistakes)

add_library(attn INTERFACE)

# Two targets to build, so that a learner's compile error stops nothing but the learner's lesson.
add_custom_target(lessons)
add_custom_target(solutions)
add_custom_target(stubs) # compiled, not linked

# Every lesson that has a solution and checks: learners change neither, whatever becomes of lessons/. Configured again when a
# lesson comes or goes: the times of folders are compared, and nothing is searched at each build.
function(add_lessons)
  file(GLOB names RELATIVE ${PROJECT_SOURCE_DIR}/solutions solutions/[0-9][0-9]_*)
  set(watched solutions tests)
  foreach(name IN LISTS names)
    file(GLOB solution solutions/${name}/*.[ch]pp)
    if(solution AND EXISTS ${PROJECT_SOURCE_DIR}/tests/${name}/checks.cpp)
      add_lesson(${name})
    else()
      message(STATUS "${name} is no lesson yet: it needs tests/${name}/checks.cpp and a solution in solutions/${name}/")
      file(GLOB begun solutions/${name} tests/${name})
      list(APPEND watched ${begun})
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${watched})
endfunction()

function(add_lesson name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NOT_IN_CTEST" "" "")
  string(REGEX MATCH "^[0-9][0-9]" number ${name})
  set(root ${CMAKE_CURRENT_SOURCE_DIR})
  set(checks ${root}/tests/${name}/checks.cpp)
  file(GLOB adapter ${root}/tests/${name}/adapter.cpp)
  set(pattern *.cpp)
  if(adapter)
    set(pattern *.hpp)
  endif()
  file(GLOB solution ${root}/solutions/${name}/${pattern})
  if(NOT number OR NOT solution)
    message(FATAL_ERROR "add_lesson(${name}): expected a name like 07_heads and solutions/${name}/${pattern}")
  endif()
  _attn_find_stubs(stubs ${root}/lessons/${name} ${pattern} ${solution})
  _attn_find_required(required ${number} ${solution} ${checks} ${adapter})
  _attn_add_solution(${number} "${solution}" "${required}")
  _attn_add_checks(${number} ${checks} "${adapter}" "${required}")

  list(TRANSFORM stubs REPLACE "^.*/" "${root}/.learn/interview/${name}/" OUTPUT_VARIABLE blank_page)
  set_source_files_properties(${blank_page} PROPERTIES GENERATED ON) # by `./learn interview`
  _attn_add_learners_program(interview_${number} ${number} "${blank_page}" "${adapter}")
  set_target_properties(interview_${number} PROPERTIES EXCLUDE_FROM_ALL ON)
  _attn_add_learners_program(lesson_${number} ${number} "${stubs}" "${adapter}")
  if(TARGET attn_sanitized)
    _attn_link_learners_program(sanitized_${number} ${number} "${stubs}" "${adapter}" attn_sanitized_pch attn_checks_main_sanitized)
    set_target_properties(sanitized_${number} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  add_dependencies(lessons lesson_${number})
  if(EXISTS ${root}/programs/demo/${name}.cpp)
    _attn_find_required(required ${number} ${solution} ${checks} ${adapter} ${root}/programs/demo/${name}.cpp)
    _attn_add_demo(${number} ${root}/programs/demo/${name}.cpp "${stubs}" "${required}")
  endif()
  if(ATTN_AUTHORING)
    add_custom_target(verify_${number} DEPENDS gate lesson_${number} solution_${number}_test)
    if(adapter)
      add_dependencies(stubs lesson_${number})
    else() # every stub compiles without a warning
      add_library(clean_${number} OBJECT EXCLUDE_FROM_ALL ${stubs})
      target_link_libraries(clean_${number} PRIVATE attn_contract attn_learner_warnings)
      target_compile_options(clean_${number} PRIVATE -Werror)
      target_precompile_headers(clean_${number} REUSE_FROM attn_pch)
      set_target_properties(clean_${number} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
      add_dependencies(verify_${number} clean_${number})
      add_dependencies(stubs clean_${number})
    endif()
  endif()
  if(ATTN_AUTHORING AND ATTN_MAIN_RUN)
    add_mistakes(${name} ${root} "${adapter}")
  endif()
  if(NOT arg_NOT_IN_CTEST)
    target_link_libraries(attn INTERFACE solution_${number})
    _attn_register(${name} ${number} ${checks})
  endif()
endfunction()

# The stubs have the names of the solution's files; learners may add files. One that they removed stops its lesson alone.
function(_attn_find_stubs result folder pattern) # files of the solution...
  list(TRANSFORM ARGN REPLACE "^.*/" "${folder}/" OUTPUT_VARIABLE stubs)
  foreach(stub IN LISTS stubs)
    if(NOT EXISTS ${stub})
      set_source_files_properties(${stub} PROPERTIES GENERATED ON)
    endif()
  endforeach()
  file(GLOB present ${folder}/${pattern})
  list(APPEND stubs ${present})
  list(REMOVE_DUPLICATES stubs)
  set(${result} ${stubs} PARENT_SCOPE)
endfunction()

# The libraries, solutions' or attn_given, that define what these files include, but for the lesson's own.
function(_attn_find_required result number) # files...
  set(files ${ARGN})
  set(required)
  set(seen)
  while(files)
    list(POP_FRONT files file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} includes REGEX "^#include \"attn/[a-z0-9_]+\\.hpp\"")
    list(TRANSFORM includes REPLACE ".*attn/([a-z0-9_]+)\\.hpp.*" "\\1")
    list(REMOVE_ITEM includes ${seen} "")
    foreach(concept IN LISTS includes)
      list(APPEND seen ${concept})
      list(APPEND files ${PROJECT_SOURCE_DIR}/include/attn/${concept}.hpp)
      file(GLOB definition RELATIVE ${PROJECT_SOURCE_DIR}/solutions
           ${PROJECT_SOURCE_DIR}/solutions/[0-9][0-9]_*/${concept}.cpp)
      string(REGEX REPLACE "^([0-9][0-9])_.*" "solution_\\1" library "${definition}")
      list(APPEND required ${library})
      if(EXISTS ${PROJECT_SOURCE_DIR}/given/${concept}.cpp)
        list(APPEND required attn_given)
      endif()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES required)
  list(REMOVE_ITEM required solution_${number})
  list(SORT required)
  set(${result} ${required} PARENT_SCOPE)
endfunction()

# solution_NN. Where the learner writes a header, the reference is one, too. Its files are compiled in one piece, as authors'
# programs are: half of a small file's time goes into the precompiled header.
function(_attn_add_solution number files required)
  if(files MATCHES "\\.hpp$")
    list(GET files 0 first)
    get_filename_component(folder ${first} DIRECTORY)
    add_library(solution_${number} INTERFACE)
    target_include_directories(solution_${number} INTERFACE ${folder})
    target_link_libraries(solution_${number} INTERFACE attn_contract ${required})
    return()
  endif()
  add_library(solution_${number} STATIC ${files})
  target_link_libraries(solution_${number} PUBLIC attn_contract ${required} PRIVATE attn_warnings)
  target_precompile_headers(solution_${number} REUSE_FROM attn_pch)
  set_target_properties(solution_${number} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# checks_NN, compiled once; judged_NN: what a program of them needs besides the files that it judges; solution_NN_test.
function(_attn_add_checks number checks adapter required)
  add_library(checks_${number} OBJECT ${checks})
  target_link_libraries(checks_${number} PRIVATE attn_judge attn_warnings)
  target_precompile_headers(checks_${number} REUSE_FROM ${ATTN_TESTS_PCH})

  add_library(judged_${number} INTERFACE)
  target_sources(judged_${number} INTERFACE ${adapter} $<TARGET_OBJECTS:checks_${number}>)
  target_link_libraries(judged_${number} INTERFACE ${required})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU) # its sentences about missing names, without the macro's lines
    set_property(SOURCE ${adapter} PROPERTY COMPILE_OPTIONS -ftrack-macro-expansion=0)
  else() # a struct will do where the adapter announces a class
    set_property(SOURCE ${adapter} PROPERTY COMPILE_OPTIONS -Wno-mismatched-tags)
  endif()

  add_executable(solution_${number}_test $<TARGET_OBJECTS:checks_${number}>)
  target_link_libraries(solution_${number}_test PRIVATE solution_${number} judged_${number} attn_checks_main attn_warnings)
  target_link_options(solution_${number}_test PRIVATE ${ATTN_NO_SYMBOLS})
  target_precompile_headers(solution_${number}_test REUSE_FROM attn_pch)
  add_dependencies(solutions solution_${number}_test)
endfunction()

# The learner's files, which are in one folder, with the checks.
function(_attn_link_learners_program target number files adapter pch main)
  add_executable(${target} ${files})
  target_link_libraries(${target} PRIVATE judged_${number} ${main} attn_learner_warnings)
  target_precompile_headers(${target} REUSE_FROM ${pch})
  if(adapter) # it includes the learner's header
    list(GET files 0 first)
    get_filename_component(folder ${first} DIRECTORY)
    target_include_directories(${target} PRIVATE ${folder})
  endif()
endfunction()

function(_attn_add_learners_program target number files adapter)
  list(GET files 0 first)
  get_filename_component(folder ${first} DIRECTORY)
  _attn_link_learners_program(${target} ${number} "${files}" "${adapter}" attn_pch attn_checks_main)

  # Compiled again whenever their text differs from what was compiled last. Ninja compares times, but a file may come back
  # with an older one: by cp -p, mv, tar, or an editor's undo.
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/texts)
  set(text ${CMAKE_CURRENT_BINARY_DIR}/texts/${target})
  add_custom_target(text_of_${target} COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/copy_text.sh ${folder} ${text}
                    BYPRODUCTS ${text} COMMENT "Comparing ${folder}" VERBATIM)
  set_property(SOURCE ${files} ${adapter} APPEND PROPERTY OBJECT_DEPENDS ${text})
endfunction()

# demo_NN shows the learner's files at work; demo_NN_solution the reference, for who has not solved the lesson. Authors run
# that one as a test.
function(_attn_add_demo number demo stubs required)
  add_executable(demo_${number} EXCLUDE_FROM_ALL ${demo} ${stubs})
  target_link_libraries(demo_${number} PRIVATE attn_programs ${required} attn_learner_warnings)
  target_precompile_headers(demo_${number} REUSE_FROM attn_pch)
  add_executable(demo_${number}_solution EXCLUDE_FROM_ALL ${demo})
  target_link_libraries(demo_${number}_solution PRIVATE attn_programs solution_${number} ${required} attn_warnings)
  target_precompile_headers(demo_${number}_solution REUSE_FROM attn_pch)
  if(ATTN_AUTHORING)
    set_target_properties(demo_${number}_solution PROPERTIES EXCLUDE_FROM_ALL OFF)
    add_dependencies(solutions demo_${number}_solution)
    add_test(NAME course.demo.${number} COMMAND demo_${number}_solution)
  endif()
endfunction()

# The checks in ctest. They are found by reading the source, so that building never runs a learner's program; and
# ctest builds the learner's program first, so that no verdict is about an older file. For authors also all that the gate
# judges of the lesson (tools/gate/judge.hpp), or at least whether the solution passes.
function(_attn_register name number checks)
  add_test(NAME lesson.${name}.build COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target lesson_${number})
  set_tests_properties(lesson.${name}.build PROPERTIES FIXTURES_SETUP built_${number} RESOURCE_LOCK build_folder)
  gtest_add_tests(TARGET lesson_${number} SOURCES ${checks} TEST_PREFIX lesson.${name}. TEST_LIST tests)
  set_tests_properties(${tests} PROPERTIES FIXTURES_REQUIRED built_${number} TIMEOUT 60)

  if(ATTN_AUTHORING AND ATTN_MAIN_RUN)
    add_test(NAME judged.${name} COMMAND gate judge ${name} --programs ${CMAKE_BINARY_DIR})
  else() # once, with one compiler; with others, or sanitizers, the solution's checks
    add_test(NAME solution.${name} COMMAND solution_${number}_test)
    set_tests_properties(solution.${name} PROPERTIES TIMEOUT 300)
  endif()
endfunction()
