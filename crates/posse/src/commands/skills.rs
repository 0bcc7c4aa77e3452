//! `posse skills`: which skills and commands there are.

use posse_core::skill::SkillRegistry;
use posse_runtime::catalog::{Catalog, CatalogOptions};
use posse_runtime::skills::{Places, PluginSkills};
use posse_runtime::world::World;

/// The skills that a session here would have.
pub(super) fn registry(catalog: &Catalog, world: &World, options: &CatalogOptions) -> SkillRegistry {
    let plugins = catalog.plugins.iter().map(PluginSkills::usual).collect();
    Places::of(catalog, world, options, plugins).read()
}
