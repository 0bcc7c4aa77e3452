//! The program: reads its surroundings once, runs, reports once.

use std::process::ExitCode;

use posse_runtime::world::World;

fn main() -> ExitCode {
    match World::from_process() {
        Ok(world) => posse::run(&world),
        Err(error) => posse::report::no_world(&error),
    }
}
