# add_lesson(NN_name [NOT_IN_CTEST] [OWN_HEADER] [REQUIRES NN_name...])
#
# Makes of lessons/NN_name, solutions/NN_name and tests/NN_name/checks.cpp, below the current folder:
#
#   solution_NN        the reference as a library; part of the library `attn`
#   lesson_NN          the checks linked with the learner's files
#   interview_NN       the checks linked with what stands in .learn/interview/NN_name: an interview's blank page
#   solution_NN_test   the same checks linked with the reference
#   demo_NN            where there is a demos/NN_name.cpp: a program that shows what the learner wrote at work
#
# The test source is compiled once, into an object library that both programs link. REQUIRES names earlier lessons whose
# solutions this one is built on: never the learner's own earlier files, so that lessons can be done in any order.
#
# OWN_HEADER: the learner writes a whole class in a header of the lesson's own, lessons/NN_name/*.hpp. The checks see it
# through tests/NN_name/adapter.cpp, the only file that is compiled with the learner's header (tools/judge/blank_class.hpp).
#
# NOT_IN_CTEST builds a lesson without making it part of the course: the tests of the gate plant such lessons.
#
# In ctest: lesson.NN_name.Suite.Check for the learner; solution.NN_name.Suite.Check and the gate's tests for authors.
include(GoogleTest)
include(AddMistakes)

add_library(attn INTERFACE)

# Two targets to build, so that a learner's compile error stops nothing but the learner's lesson.
add_custom_target(lessons)
add_custom_target(solutions)

function(add_lesson name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NOT_IN_CTEST;OWN_HEADER" "" "REQUIRES")
  string(REGEX MATCH "^[0-9][0-9]" number ${name})
  set(root ${CMAKE_CURRENT_SOURCE_DIR})
  set(test_source ${root}/tests/${name}/checks.cpp)
  set(adapter)
  set(pattern *.cpp)
  if(arg_OWN_HEADER)
    set(adapter ${root}/tests/${name}/adapter.cpp)
    set(pattern *.hpp)
  endif()
  file(GLOB stubs ${root}/lessons/${name}/${pattern})
  file(GLOB solutions ${root}/solutions/${name}/${pattern})
  if(NOT number OR NOT stubs OR NOT solutions OR NOT EXISTS ${test_source})
    message(FATAL_ERROR "add_lesson(${name}): expected a name like 07_heads, stubs in lessons/${name}/${pattern}, "
                        "solutions in solutions/${name}/${pattern} and the checks in tests/${name}/checks.cpp")
  endif()
  set(required)
  foreach(lesson IN LISTS arg_REQUIRES)
    string(SUBSTRING ${lesson} 0 2 required_number)
    list(APPEND required solution_${required_number})
  endforeach()

  if(arg_OWN_HEADER)
    add_library(solution_${number} INTERFACE)
    target_include_directories(solution_${number} INTERFACE ${root}/solutions/${name})
    target_link_libraries(solution_${number} INTERFACE attn_contract ${required})
  else()
    add_library(solution_${number} STATIC ${solutions})
    target_link_libraries(solution_${number} PUBLIC attn_contract ${required} PRIVATE attn_warnings)
    target_precompile_headers(solution_${number} REUSE_FROM attn_pch)
  endif()
  if(NOT arg_NOT_IN_CTEST)
    target_link_libraries(attn INTERFACE solution_${number})
  endif()

  add_library(checks_${number} OBJECT ${test_source})
  target_link_libraries(checks_${number} PRIVATE attn_judge attn_warnings)
  target_precompile_headers(checks_${number} REUSE_FROM ${ATTN_TESTS_PCH})

  _attn_compile_again_when_changed("${stubs}" lesson_${number})
  _attn_add_learners_program(lesson_${number} "${stubs}")
  if(ATTN_AUTHORING)
    target_compile_options(lesson_${number} PRIVATE -Werror)  # every stub compiles clean
  endif()
  list(TRANSFORM stubs REPLACE "^.*/" "${root}/.learn/interview/${name}/" OUTPUT_VARIABLE blank_page)
  set_source_files_properties(${blank_page} PROPERTIES GENERATED ON) # by `./learn interview`
  _attn_compile_again_when_changed("${blank_page}" interview_${number})
  _attn_add_learners_program(interview_${number} "${blank_page}")
  set_target_properties(interview_${number} PROPERTIES EXCLUDE_FROM_ALL ON)

  add_executable(solution_${number}_test ${adapter} $<TARGET_OBJECTS:checks_${number}>)
  target_link_libraries(solution_${number}_test PRIVATE solution_${number} attn_checks_main)
  if(arg_OWN_HEADER)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU) # its sentences about missing names, without the macro's lines
      set_source_files_properties(${adapter} PROPERTIES COMPILE_OPTIONS -ftrack-macro-expansion=0)
    else() # a struct will do where the adapter announces a class
      set_source_files_properties(${adapter} PROPERTIES COMPILE_OPTIONS -Wno-mismatched-tags)
    endif()
    target_precompile_headers(solution_${number}_test REUSE_FROM attn_pch)
    target_link_libraries(solution_${number}_test PRIVATE attn_warnings)
  endif()

  add_dependencies(lessons lesson_${number})
  add_dependencies(solutions solution_${number}_test)

  if(ATTN_AUTHORING AND ATTN_MISTAKES)
    set(not_in_ctest)
    if(arg_NOT_IN_CTEST)
      set(not_in_ctest NOT_IN_CTEST)
    endif()
    add_mistakes(${name} ${not_in_ctest} ROOT ${root} ADAPTER ${adapter} REQUIRES ${required})
  endif()
  if(EXISTS ${root}/demos/${name}.cpp)
    _attn_add_demo(${name} ${number} ${root} "${stubs}" "${required}")
  endif()
  if(NOT arg_NOT_IN_CTEST)
    _attn_register_checks(${name} ${number} ${test_source})
    if(ATTN_AUTHORING AND NOT ATTN_SANITIZE)
      _attn_register_gate(${name} ${number} ${root})
    endif()
  endif()
endfunction()

# Compiles a learner's files again whenever their text differs from what was compiled last. Ninja compares times, but a file
# may come back with an older one: by cp -p, mv, tar, or an editor's undo.
function(_attn_compile_again_when_changed files what)
  list(GET files 0 first)
  get_filename_component(folder ${first} DIRECTORY)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/texts)
  set(text ${CMAKE_CURRENT_BINARY_DIR}/texts/${what})
  add_custom_target(text_of_${what} COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/copy_text.sh ${folder} ${text}
                    BYPRODUCTS ${text} COMMENT "Comparing ${folder}" VERBATIM)
  set_property(SOURCE ${files} ${adapter} APPEND PROPERTY OBJECT_DEPENDS ${text})
endfunction()

# A learner's files, linked with the checks of the lesson that add_lesson() is about.
function(_attn_add_learners_program target files)
  add_executable(${target} ${files} ${adapter} $<TARGET_OBJECTS:checks_${number}>)
  target_link_libraries(${target} PRIVATE attn_checks_main ${required} attn_learner_warnings)
  target_precompile_headers(${target} REUSE_FROM attn_pch)
  if(adapter) # it includes the learner's header
    list(GET files 0 first)
    get_filename_component(folder ${first} DIRECTORY)
    target_include_directories(${target} PRIVATE ${folder})
  endif()
endfunction()

# demo_NN shows the learner's files at work; authors get the same with the reference, and run it as a test.
function(_attn_add_demo name number root stubs required)
  add_executable(demo_${number} EXCLUDE_FROM_ALL ${root}/demos/${name}.cpp ${stubs})
  target_link_libraries(demo_${number} PRIVATE attn_demo ${required} attn_learner_warnings)
  target_precompile_headers(demo_${number} REUSE_FROM attn_pch)
  if(ATTN_AUTHORING)
    add_executable(demo_${number}_solution ${root}/demos/${name}.cpp)
    target_link_libraries(demo_${number}_solution PRIVATE attn_demo solution_${number} attn_warnings)
    target_precompile_headers(demo_${number}_solution REUSE_FROM attn_pch)
    add_dependencies(solutions demo_${number}_solution)
    add_test(NAME course.demo.${number} COMMAND demo_${number}_solution)
  endif()
endfunction()

# The checks in ctest. They are found by reading the source, so that building never runs a learner's program; and
# ctest builds the learner's program first, so that no verdict is about an older file.
function(_attn_register_checks name number test_source)
  add_test(NAME lesson.${name}.build COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target lesson_${number})
  set_tests_properties(lesson.${name}.build PROPERTIES FIXTURES_SETUP built_${number} RESOURCE_LOCK build_folder)
  gtest_add_tests(TARGET lesson_${number} SOURCES ${test_source} TEST_PREFIX lesson.${name}. TEST_LIST checks)
  set_tests_properties(${checks} PROPERTIES FIXTURES_REQUIRED built_${number} TIMEOUT 60)

  if(ATTN_AUTHORING AND NOT ATTN_MISTAKES) # another compiler, or sanitizers: all checks of a lesson in one process
    add_test(NAME solution.${name} COMMAND solution_${number}_test)
    set_tests_properties(solution.${name} PROPERTIES TIMEOUT 300)
    return()
  endif()
  gtest_add_tests(TARGET solution_${number}_test SOURCES ${test_source} TEST_PREFIX solution.${name}. TEST_LIST checks)
  set_tests_properties(${checks} PROPERTIES TIMEOUT 60)
endfunction()

# The gate's promises about one lesson (tools/learn/gate.hpp says what each one judges).
function(_attn_register_gate name number root)
  set(gate gate --root ${root})
  add_test(NAME stub.${name} COMMAND ${gate} stub ${name} --program $<TARGET_FILE:lesson_${number}>)
  if(ATTN_MISTAKES) # files are judged once, and not with every compiler
    add_test(NAME golden.${name} COMMAND ${gate} golden ${name})
    add_test(NAME chapter.${name} COMMAND ${gate} chapter ${name})
  endif()
endfunction()
