# add_mistakes(NN_name [NOT_IN_CTEST] ROOT folder [ADAPTER file] [REQUIRES solution targets])
#
# For every entry of tests/mistakes/NN_name.json: the solution with that one edit made, compiled and linked with the
# lesson's checks, as mutant_NN_<id>; and a test mistake.NN_name.<id> that wants it rejected and named.
function(add_mistakes name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NOT_IN_CTEST" "ROOT;ADAPTER" "REQUIRES")
  string(SUBSTRING ${name} 0 2 number)
  set(catalogue ${arg_ROOT}/tests/mistakes/${name}.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogue})
  file(READ ${catalogue} json)
  string(JSON count LENGTH "${json}" mistakes)

  if(count EQUAL 0)
    return()
  endif()
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    string(JSON id GET "${json}" mistakes ${index} id)
    string(JSON file GET "${json}" mistakes ${index} file)
    set(original ${arg_ROOT}/solutions/${name}/${file})
    set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}/${id}/${file})
    add_custom_command(
      OUTPUT ${mutated}
      COMMAND course_gate --root ${arg_ROOT} mutate ${name} ${id} --output ${mutated}
      DEPENDS ${original} ${catalogue}
      COMMENT "Making mistake ${id} of ${name}")

    # The lesson's other files come from the solution's library: what the mutated one defines is not taken from there.
    set(mutant mutant_${number}_${id})
    add_executable(${mutant} ${mutated} ${arg_ADAPTER} $<TARGET_OBJECTS:checks_${number}>)
    target_link_libraries(${mutant} PRIVATE solution_${number} attn_test_main ${arg_REQUIRES})
    target_precompile_headers(${mutant} REUSE_FROM attn_pch)
    if(arg_ADAPTER) # the mistake is in a header that the adapter includes
      get_filename_component(folder ${mutated} DIRECTORY)
      target_include_directories(${mutant} BEFORE PRIVATE ${folder})
    endif()
    if(NOT arg_NOT_IN_CTEST)
      add_test(NAME mistake.${name}.${id} COMMAND course_gate --root ${arg_ROOT} mistake ${name} ${id} --program
                                                  $<TARGET_FILE:${mutant}>)
    endif()
  endforeach()
endfunction()
