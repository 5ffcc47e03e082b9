# add_mistakes(NN_name root adapter)
#
# mutants_NN: the lesson's checks, linked with the solution with all edits of tests/NN_name/mistakes.json and answers.json in
# it, of which ATTN_MISTAKE=<id> chooses one. The gate runs the checks with each (tools/run/edits.hpp).
function(add_mistakes name root adapter)
  string(SUBSTRING ${name} 0 2 number)
  file(GLOB catalogues ${root}/tests/${name}/mistakes.json ${root}/tests/${name}/answers.json)
  file(GLOB solution RELATIVE ${root}/solutions/${name} ${root}/solutions/${name}/*.[ch]pp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogues})
  set(edits)
  foreach(catalogue IN LISTS catalogues) # the gate says which has to exist
    file(STRINGS ${catalogue} lines REGEX "\"file\":")
    list(APPEND edits ${lines})
  endforeach()

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
  set(mutated)
  set(unchanged)
  foreach(file IN LISTS solution)
    if(NOT edits MATCHES "\"file\": \"${file}\"")
      list(APPEND unchanged ${root}/solutions/${name}/${file})
      continue()
    endif()
    add_custom_command(
      OUTPUT ${folder}/${file}
      COMMAND gate --root ${root} mutate-all ${name} ${file} --output ${folder}/${file}
      DEPENDS gate ${root}/solutions/${name}/${file} ${catalogues}
      COMMENT "Making mistakes of ${name} in ${file}")
    list(APPEND mutated ${folder}/${file})
  endforeach()
  if(NOT mutated)
    return()
  endif()
  add_executable(mutants_${number} ${mutated} ${unchanged})
  target_link_libraries(mutants_${number} PRIVATE judged_${number} attn_checks_main)
  target_link_options(mutants_${number} PRIVATE ${ATTN_NO_SYMBOLS})
  target_precompile_headers(mutants_${number} REUSE_FROM attn_pch)
  set_target_properties(mutants_${number} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0
                                                     UNITY_BUILD_UNIQUE_ID mistake_in) # each file has a function of this name
  add_dependencies(verify_${number} mutants_${number})
  if(adapter) # the mistakes are in a header that the adapter includes
    target_include_directories(mutants_${number} BEFORE PRIVATE ${folder} ${root}/solutions/${name})
  endif()
endfunction()
