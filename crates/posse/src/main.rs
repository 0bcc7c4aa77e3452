//! The program: reads its surroundings once, runs, reports once.

use std::process::ExitCode;

use posse_runtime::sandbox::confine;
use posse_runtime::world::{self, World};

fn main() -> ExitCode {
    // Before all else: rights are given up by threads, and here there is one.
    let args = world::arguments();
    #[cfg(target_os = "linux")]
    if world::process::mind::is_asked(&args) {
        return world::process::mind::run(&args);
    }
    if confine::is_asked(&args) {
        return posse::report::not_confined(&confine::become_confined(&args));
    }
    let code = match World::from_process() {
        Ok(world) => posse::run(&world),
        Err(error) => posse::report::no_world(&error),
    };
    world::process::end_all();
    code
}
