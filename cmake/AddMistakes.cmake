# add_mistakes(NN_name root adapter not_in_ctest)
#
# The programs for tests/NN_name/mistakes.json and answers.json: the lesson's checks, linked with the solution with one edit
# made. Most edits are within the body of a function. They are compiled together, as mutants_NN, where ATTN_MISTAKE=<id>
# chooses one. The others, which say "alone", are each a program of their own: mutant_NN_<id>.
#
# And unless not_in_ctest, for every mistake a test mistake.NN_name.<id>: it has to be rejected and named; and a test
# course.answers.NN_name: what the judge says of answers that the catalogue does not know.
function(add_mistakes name root adapter not_in_ctest)
  string(SUBSTRING ${name} 0 2 number)
  set(together)
  _attn_read_edits(mistakes mistakes.json)
  _attn_read_edits(answers answers.json)
  if(NOT not_in_ctest)
    foreach(id IN LISTS mistakes)
      add_test(NAME mistake.${name}.${id}
               COMMAND gate --root ${root} mistake ${name} ${id} --programs ${CMAKE_CURRENT_BINARY_DIR})
    endforeach()
    if(answers)
      add_test(NAME course.answers.${name}
               COMMAND gate --root ${root} answers ${name} --programs ${CMAKE_CURRENT_BINARY_DIR})
    endif()
  endif()
  list(REMOVE_DUPLICATES together)
  foreach(file IN LISTS together)
    _attn_mutate(mutants_${number} ${name} ${root} "${adapter}" all ${file} mutate-all ${file})
  endforeach()
endfunction()

# The edits in tests/NN_name/${file}: those that say "alone" become programs of their own, the files of the others are
# added to `together`. The result has the ids.
macro(_attn_read_edits list file)
  set(catalogue ${root}/tests/${name}/${file})
  set(${list})
  if(EXISTS ${catalogue}) # the gate says which has to exist
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogue})
    file(READ ${catalogue} json)
    string(JSON count LENGTH "${json}" ${list})
    set(index 0)
    while(index LESS count)
      string(JSON edit GET "${json}" ${list} ${index})
      string(JSON id GET "${edit}" id)
      string(JSON edited GET "${edit}" file)
      string(JSON alone ERROR_VARIABLE none GET "${edit}" alone)
      if(${list} STREQUAL answers)
        set(id answer.${id})
      endif()
      if(alone STREQUAL ON)
        _attn_mutate(mutant_${number}_${id} ${name} ${root} "${adapter}" ${id} ${edited} mutate ${id})
      else()
        list(APPEND together ${edited})
      endif()
      list(APPEND ${list} ${id})
      math(EXPR index "${index} + 1")
    endwhile()
  endif()
endmacro()

# Makes a file of the solution with mistakes in it, by `gate ${command} ${what}`, and compiles it as part of `program`. The
# lesson's other files come from the solution's library: what the mutated ones define is not taken from there.
function(_attn_mutate program name root adapter folder file command what)
  string(SUBSTRING ${name} 0 2 number)
  file(GLOB catalogues ${root}/tests/${name}/mistakes.json ${root}/tests/${name}/answers.json)
  set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}/${folder}/${file})
  add_custom_command(
    OUTPUT ${mutated}
    COMMAND gate --root ${root} ${command} ${name} ${what} --output ${mutated}
    DEPENDS gate ${root}/solutions/${name}/${file} ${catalogues}
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
