# add_mistakes(NN_name [NOT_IN_CTEST] ROOT folder [ADAPTER file] [REQUIRES solution targets])
#
# For every entry of tests/NN_name/mistakes.json a test mistake.NN_name.<id> that wants the mistake rejected and named:
# by the lesson's checks, linked with the solution with that edit made. Most edits are within the body of a function.
# They are compiled together, as mutants_NN, where ATTN_MISTAKE=<id> chooses one. The others, which say "alone", are each
# a program of their own: mutant_NN_<id>.
function(add_mistakes name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NOT_IN_CTEST" "ROOT;ADAPTER" "REQUIRES")
  string(SUBSTRING ${name} 0 2 number)
  set(catalogue ${arg_ROOT}/tests/${name}/mistakes.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogue})
  file(READ ${catalogue} json)
  string(JSON count LENGTH "${json}" mistakes)

  if(count EQUAL 0)
    return()
  endif()
  set(together)
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    string(JSON id GET "${json}" mistakes ${index} id)
    string(JSON file GET "${json}" mistakes ${index} file)
    string(JSON alone ERROR_VARIABLE none GET "${json}" mistakes ${index} alone)
    if(alone STREQUAL ON)
      set(program mutant_${number}_${id})
      _attn_mutate(${program} ${id} "mutate;${id}" ${file})
    else()
      set(program mutants_${number})
      list(APPEND together ${file})
    endif()
    if(NOT arg_NOT_IN_CTEST)
      add_test(NAME mistake.${name}.${id} COMMAND gate --root ${arg_ROOT} mistake ${name} ${id} --program
                                                  $<TARGET_FILE:${program}>)
    endif()
  endforeach()

  list(REMOVE_DUPLICATES together)
  foreach(file IN LISTS together)
    _attn_mutate(mutants_${number} all "mutate-all;${file}" ${file})
  endforeach()
endfunction()

# Makes a file of the solution with mistakes in it, and compiles it as part of `program`. The lesson's other files come
# from the solution's library: what the mutated ones define is not taken from there.
function(_attn_mutate program folder command file)
  set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}/${folder}/${file})
  list(GET command 0 mutate)
  list(GET command 1 what)
  add_custom_command(
    OUTPUT ${mutated}
    COMMAND gate --root ${arg_ROOT} ${mutate} ${name} ${what} --output ${mutated}
    DEPENDS gate ${arg_ROOT}/solutions/${name}/${file} ${catalogue}
    COMMENT "Making mistakes of ${name}: ${what}")
  if(TARGET ${program})
    target_sources(${program} PRIVATE ${mutated})
    return()
  endif()
  add_executable(${program} ${mutated} ${arg_ADAPTER} $<TARGET_OBJECTS:checks_${number}>)
  target_link_libraries(${program} PRIVATE solution_${number} attn_checks_main ${arg_REQUIRES})
  target_precompile_headers(${program} REUSE_FROM attn_pch)
  if(arg_ADAPTER) # the mistakes are in a header that the adapter includes
    get_filename_component(folder ${mutated} DIRECTORY)
    target_include_directories(${program} BEFORE PRIVATE ${folder})
  endif()
endfunction()
