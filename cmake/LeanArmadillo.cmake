# attn_lean_armadillo(folder result): writes a copy of some of the installed Armadillo's headers that compiles faster.
#
# A compiler instantiates an inline member in every file that uses it, even where `extern template` says that it is
# instantiated elsewhere. And g++ instantiates what the plain inline functions of a precompiled header need in every file
# that uses it, whether they are called or not. So in the copy
#
# - the templates that armadillo_templates.hpp instantiates are not marked inline, which is only a hint for a template;
# - the plain functions that make a matrix, such as randu(n) and regspace(a, b), are only declared. They are defined in
#   armadillo_templates.cpp.
#
# Nothing is left out, and no result changes. Headers that stay the same are not copied: the compiler finds the installed
# ones. `result` is FALSE when a header is missing or has nothing to replace: then use none of the copy.
function(attn_lean_armadillo folder result)
  set(${result} FALSE PARENT_SCOPE)
  configure_file(${ARMADILLO_INCLUDE_DIR}/armadillo ${folder}/armadillo COPYONLY)
  foreach(name Mat Col Row Cube glue_times op_strans)
    foreach(part bones meat)
      _attn_read_armadillo(${name}_${part} original)
      string(REGEX REPLACE "([ \n])(arma_)?inline([ \n])" "\\1\\3" text "${original}")
      if(text STREQUAL original)
        return()
      endif()
      _attn_write_armadillo(${folder} ${name}_${part} "${text}")
    endforeach()
  endforeach()

  string(ASCII 1 end) # marks the brace that closes a function, where the regular expression has to end
  foreach(name chi2rnd misc randg randi randn randperm randu regspace speye sprandn sprandu trimat_ind)
    _attn_read_armadillo(fn_${name} original)
    string(REPLACE "\n  }\n" "\n  ${end}\n" text "${original}")
    string(REGEX REPLACE "(\n|\n//[^\n]*)\n(arma_warn_unused\n)?inline\n([^{}]+)\n  {([^${end}]*)${end}\n"
                         "\\1\n\\2\\3\n#ifdef ATTN_INSTANTIATE\n  {\\4}\n#else\n  ;\n#endif\n" text "${text}")
    string(REPLACE "${end}" "}" text "${text}")
    if(text STREQUAL original)
      return()
    endif()
    _attn_write_armadillo(${folder} fn_${name} "${text}")
  endforeach()
  set(${result} TRUE PARENT_SCOPE)
endfunction()

# Empty when there is no such header.
function(_attn_read_armadillo name result)
  set(file ${ARMADILLO_INCLUDE_DIR}/armadillo_bits/${name}.hpp)
  set(text "")
  if(EXISTS ${file})
    file(READ ${file} text)
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# Leaves a file that has not changed alone, so that the precompiled header is not built again.
function(_attn_write_armadillo folder name text)
  file(CONFIGURE OUTPUT ${folder}/armadillo_bits/${name}.hpp CONTENT "${text}" @ONLY)
endfunction()
