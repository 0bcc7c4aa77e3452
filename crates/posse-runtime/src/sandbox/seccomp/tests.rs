use super::*;

fn order(reach: Reach) -> Order {
    Order {
        landlock: true,
        writable: Vec::new(),
        protected: Vec::new(),
        unreadable: Vec::new(),
        read_only: true,
        freeze_metadata: true,
        private_dev: false,
        reach,
        local_sockets: false,
    }
}

/// The kernel takes 4096 instructions; every filter must stay far from that.
#[test]
fn filters_compile_and_are_short() {
    for reach in [Reach::Anybody, Reach::Nobody, Reach::Port(8080)] {
        for local_sockets in [false, true] {
            let programs = programs(&Order { local_sockets, ..order(reach) }).unwrap();
            assert!(programs.len() >= 2);
            let lengths: Vec<usize> = programs.iter().map(Vec::len).collect();
            assert!(lengths.iter().all(|length| (1..1500).contains(length)), "{lengths:?}");
        }
    }
}

#[test]
fn a_call_that_is_refused_whatever_its_arguments_stays_so() {
    let mut rules = Rules::new();
    rules.insert(1, Vec::new());
    add(&mut rules, 1, vec![is(0, 3).unwrap()]).unwrap();
    assert!(rules[&1].is_empty());
}
