//! Where ids and chance come from: the system, or a seed so that a run can be repeated.

use std::sync::Mutex;

use super::Env;

/// A source of ids.
#[derive(Debug, Default)]
pub struct Ids {
    /// The state of a seeded generator; `None` means the system's randomness.
    seeded: Option<Mutex<u64>>,
}

impl Ids {
    /// Ids that are the same in every run.
    pub fn seeded(seed: u64) -> Self {
        Self { seeded: Some(Mutex::new(seed)) }
    }

    /// The system's randomness, unless `POSSE_SEED` is set.
    pub(super) fn from_env(env: &Env) -> Self {
        env.number("POSSE_SEED").map_or_else(Self::default, Self::seeded)
    }

    /// A random (version 4) UUID.
    #[allow(clippy::disallowed_methods)] // The door the lint guards.
    pub fn uuid(&self) -> String {
        let high = self.next();
        let low = self.next();
        uuid::Builder::from_random_bytes(((u128::from(high) << 64) | u128::from(low)).to_be_bytes())
            .into_uuid()
            .to_string()
    }

    /// Sixteen hex digits.
    pub fn hex16(&self) -> String {
        format!("{:016x}", self.next())
    }

    /// A number from 0 to 1.
    pub fn fraction(&self) -> f64 {
        // 53 bits fill the mantissa exactly.
        #[allow(clippy::cast_precision_loss)]
        let number = (self.next() >> 11) as f64;
        number / 9_007_199_254_740_992.0
    }

    fn next(&self) -> u64 {
        match &self.seeded {
            Some(state) => {
                let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                split_mix(*state)
            }
            None => system_random(),
        }
    }
}

/// SplitMix64: small, and good enough for ids nobody needs to be unable to guess.
fn split_mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn system_random() -> u64 {
    let mut bytes = [0u8; 8];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    match filled {
        Ok(8) => u64::from_ne_bytes(bytes),
        // The kernel's generator does not fail after boot; a hash of addresses and counters still differs per call.
        Ok(_) | Err(_) => {
            use std::hash::{BuildHasher, Hasher};
            std::collections::hash_map::RandomState::new().build_hasher().finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_the_system_does_not() {
        let twice = || {
            let ids = Ids::seeded(7);
            (ids.uuid(), ids.hex16())
        };
        assert_eq!(twice(), twice());
        let ids = Ids::default();
        assert_ne!(ids.uuid(), ids.uuid());
        let uuid = ids.uuid();
        assert_eq!((uuid.len(), uuid.as_bytes()[14]), (36, b'4'));
        assert!((0.0..1.0).contains(&ids.fraction()));
    }
}
