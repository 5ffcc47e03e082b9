# add_mistakes(NN_name root adapter not_in_ctest)
#
# The programs for tests/NN_name/mistakes.json: the lesson's checks, linked with the solution with one edit made. Most edits
# are within the body of a function. They are compiled together, as mutants_NN, where ATTN_MISTAKE=<id> chooses one. The
# others, which say "alone", are each a program of their own: mutant_NN_<id>.
#
# And for every mistake, unless not_in_ctest, a test mistake.NN_name.<id>: it has to be rejected and named.
function(add_mistakes name root adapter not_in_ctest)
  string(SUBSTRING ${name} 0 2 number)
  set(catalogue ${root}/tests/${name}/mistakes.json)
  if(NOT EXISTS ${catalogue}) # the gate says so
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogue})
  file(READ ${catalogue} json)
  string(JSON count LENGTH "${json}" mistakes)
  set(together)
  set(index 0)
  while(index LESS count)
    string(JSON mistake GET "${json}" mistakes ${index})
    string(JSON id GET "${mistake}" id)
    string(JSON file GET "${mistake}" file)
    string(JSON alone ERROR_VARIABLE none GET "${mistake}" alone)
    set(program mutants_${number})
    if(alone STREQUAL ON)
      set(program mutant_${number}_${id})
      _attn_mutate(${program} ${name} ${root} "${adapter}" ${id} ${file} mutate ${id})
    else()
      list(APPEND together ${file})
    endif()
    if(NOT not_in_ctest)
      add_test(NAME mistake.${name}.${id}
               COMMAND gate --root ${root} mistake ${name} ${id} --program $<TARGET_FILE:${program}>)
    endif()
    math(EXPR index "${index} + 1")
  endwhile()
  list(REMOVE_DUPLICATES together)
  foreach(file IN LISTS together)
    _attn_mutate(mutants_${number} ${name} ${root} "${adapter}" all ${file} mutate-all ${file})
  endforeach()
endfunction()

# Makes a file of the solution with mistakes in it, by `gate ${command} ${what}`, and compiles it as part of `program`. The
# lesson's other files come from the solution's library: what the mutated ones define is not taken from there.
function(_attn_mutate program name root adapter folder file command what)
  string(SUBSTRING ${name} 0 2 number)
  set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}/${folder}/${file})
  add_custom_command(
    OUTPUT ${mutated}
    COMMAND gate --root ${root} ${command} ${name} ${what} --output ${mutated}
    DEPENDS gate ${root}/solutions/${name}/${file} ${root}/tests/${name}/mistakes.json
    COMMENT "Making mistakes of ${name}: ${what}")
  if(TARGET ${program})
    target_sources(${program} PRIVATE ${mutated})
    return()
  endif()
  add_executable(${program} ${mutated})
  target_link_libraries(${program} PRIVATE solution_${number} judged_${number})
  target_precompile_headers(${program} REUSE_FROM attn_pch)
  add_dependencies(verify_${number} ${program})
  if(adapter) # the mistakes are in a header that the adapter includes
    get_filename_component(folder ${mutated} DIRECTORY)
    target_include_directories(${program} BEFORE PRIVATE ${folder})
  endif()
endfunction()
