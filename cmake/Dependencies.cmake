# Packages, wrapped once as targets, and the flags that all our targets share.
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

include(LeanArmadillo)
find_package(Armadillo REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)
find_library(ATTN_OPENBLAS openblas REQUIRED)

# Armadillo calls OpenBLAS directly: without its wrapper library a program starts in milliseconds.
add_library(attn_armadillo INTERFACE)
target_include_directories(attn_armadillo SYSTEM INTERFACE ${ARMADILLO_INCLUDE_DIRS})
# All versions draw the same random numbers: without the wrapper Armadillo 11 has only the generator of C++03, and later
# versions use it if told so. What a mistake gives is the same numbers everywhere, then.
target_compile_definitions(attn_armadillo INTERFACE ARMA_DONT_USE_WRAPPER ARMA_DONT_USE_CXX11_RNG)
target_link_libraries(attn_armadillo INTERFACE ${ATTN_OPENBLAS})

# Learners wait for compilations without optimisation. Tried with Armadillo 11.4, 12.6 and 14.2: other headers are used as
# they are.
if(CMAKE_BUILD_TYPE STREQUAL Debug AND NOT ATTN_SANITIZE AND ARMADILLO_VERSION_MAJOR MATCHES "^(11|12|13|14)$")
  attn_lean_armadillo(${PROJECT_BINARY_DIR}/armadillo lean)
  if(lean)
    target_include_directories(attn_armadillo SYSTEM BEFORE INTERFACE ${PROJECT_BINARY_DIR}/armadillo)
  endif()
endif()

# The contracts in include/attn.
add_library(attn_contract INTERFACE)
target_include_directories(attn_contract INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(attn_contract INTERFACE attn_armadillo)

# Warnings: errors in our own code, only shown in the learner's. (-Wpedantic has to be the same for a precompiled header.)
add_library(attn_learner_warnings INTERFACE)
target_compile_options(attn_learner_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                                                       -Wno-unused-parameter -Werror=return-type)
add_library(attn_warnings INTERFACE)
target_compile_options(attn_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)

# What every program of checks links is compiled for the linker to choose from, function by function: a quarter of the size of
# a hundred programs.
add_library(attn_sections INTERFACE)
if(NOT ATTN_SANITIZE)
  target_compile_options(attn_sections INTERFACE -ffunction-sections -fdata-sections)
  add_link_options(-Wl,--gc-sections)
endif()

if(ATTN_SANITIZE)
  add_compile_options(-fsanitize=${ATTN_SANITIZE} -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${ATTN_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    add_compile_options(-fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/undefined_behavior_ignored.txt)
  endif()
endif()

# What somebody waits for is optimised, whatever the rest is. (Not with sanitizers: there, compiling it takes longer.)
if(NOT ATTN_SANITIZE)
  set(ATTN_O1 -O1)
  set(ATTN_O2 -O2)
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options(-fpch-instantiate-templates)
else() # no collection of garbage right after the precompiled header is loaded: a tenth of the time of a large file
  add_compile_options(--param=ggc-min-heapsize=400000) # KiB
endif()

# Lines for the learner's files, and no others: the report of a failing check says where something was thrown. The header that
# is compiled for both has them. (Not by a preset, which a folder that is configured would not notice.)
if(CMAKE_BUILD_TYPE STREQUAL Debug AND NOT ATTN_SANITIZE AND NOT CMAKE_CXX_FLAGS_DEBUG MATCHES "-g")
  target_compile_options(attn_learner_warnings INTERFACE -g1)
  set(ATTN_NO_SYMBOLS -s) # for the hundred programs that only authors run
endif()

# A fast linker, if there is one, saves up to 0.4 s each time, and with sanitizers 1.5 s (g++'s want the default one).
if(NOT ATTN_SANITIZE OR CMAKE_CXX_COMPILER_ID MATCHES Clang)
  find_program(ATTN_LLD ld.lld)
  find_program(ATTN_GOLD ld.gold)
  if(ATTN_LLD)
    add_link_options(-fuse-ld=lld)
    if(CMAKE_BUILD_TYPE STREQUAL Debug) # one program of a learner's: no time to make it small, too little for threads
      add_link_options(-Wl,-O0 -Wl,--threads=1)
    endif()
  elseif(ATTN_GOLD)
    add_link_options(-fuse-ld=gold)
  endif()
endif()

# One shared precompiled header: the learner's file compiles in well under a second. It holds no test headers, so that a
# learner's file cannot come to depend on them.
set(pch ${CMAKE_CURRENT_LIST_DIR}/pch)
add_library(attn_armadillo_templates STATIC EXCLUDE_FROM_ALL ${pch}/armadillo_templates.cpp)
target_link_libraries(attn_armadillo_templates PUBLIC attn_armadillo PRIVATE attn_sections)
target_compile_options(attn_armadillo_templates PRIVATE -g0) # large, and none of its lines are a learner's

if(ATTN_SANITIZE) # instantiated only where they are used: sanitized code is slow to compile
  target_compile_definitions(attn_contract INTERFACE ATTN_PLAIN_ARMADILLO)
else()
  target_link_libraries(attn_contract INTERFACE attn_armadillo_templates)
endif()

add_library(attn_pch OBJECT ${pch}/pch.cpp)
target_link_libraries(attn_pch PRIVATE attn_contract attn_learner_warnings)
target_precompile_headers(attn_pch PRIVATE ${pch}/pch.hpp)

# For `./learn check NN --asan`: sanitizers in the learner's files, and in what these instantiate of Armadillo. All else that the
# program links is as it is.
if(NOT ATTN_SANITIZE)
  add_library(attn_sanitized INTERFACE)
  target_compile_options(attn_sanitized INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined)
  target_compile_definitions(attn_sanitized INTERFACE ATTN_PLAIN_ARMADILLO)
  target_link_options(attn_sanitized INTERFACE -fsanitize=address,undefined)
  if(ATTN_GOLD AND NOT ATTN_LLD) # g++'s sanitizers want another one than gold
    target_link_options(attn_sanitized INTERFACE -fuse-ld=bfd)
  endif()
  add_library(attn_sanitized_pch OBJECT EXCLUDE_FROM_ALL ${pch}/pch.cpp)
  target_link_libraries(attn_sanitized_pch PRIVATE attn_contract attn_learner_warnings attn_sanitized)
  target_precompile_headers(attn_sanitized_pch PRIVATE ${pch}/pch.hpp)
endif()

# Authors compile many files of tests. With clang++ they get a second header, with GoogleTest: it takes a third off each of
# them. (With g++ it gains nothing, and a learner has too few such files.)
set(ATTN_TESTS_PCH attn_pch)
if(ATTN_AUTHORING AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(ATTN_TESTS_PCH attn_tests_pch)
  add_library(attn_tests_pch OBJECT ${pch}/pch.cpp)
  target_link_libraries(attn_tests_pch PRIVATE attn_contract GTest::gmock attn_learner_warnings)
  target_precompile_headers(attn_tests_pch PRIVATE ${pch}/pch.hpp <functional> <gmock/gmock.h> <gtest/gtest.h>)
endif()
