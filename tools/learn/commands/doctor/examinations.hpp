#pragma once

#include "learn/commands/doctor/setup.hpp"

/// What `./learn doctor` looks at. Each examination returns its findings: usually one, and none where there is nothing
/// to report.
namespace attn::learn::checkup {

/// All macros that are defined after the headers whose versions are in macros, as the compiler reports them.
Values library_macros(const Setup& setup);

/// The line that makes a file or folder of the course writable, which it was found not to be.
std::string make_writable(const Setup& setup, const std::string& name);

Findings examine_version(const Setup& setup);
Findings examine_folder(const Setup& setup);
Findings examine_state(const Setup& setup);
Findings examine_disk(const Setup& setup);
Findings examine_clock(const Setup& setup);
Findings examine_compiler(const Setup& setup);
Findings examine_cmake(const Setup& setup);
Findings examine_ninja(const Setup& setup);
Findings examine_linker(const Setup& setup);
Findings examine_build(const Setup& setup);
Findings examine_libraries(const Setup& setup);
Findings examine_blas(const Setup& setup);
Findings examine_editor(const Setup& setup);
Findings examine_clangd(const Setup& setup);
Findings examine_chosen_editor(const Setup& setup);
Findings examine_locale(const Setup& setup);
Findings examine_terminal(const Setup& setup);
Findings examine_memory(const Setup& setup);
Findings examine_pytorch(const Setup& setup);

}  // namespace attn::learn::checkup
