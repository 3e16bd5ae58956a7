//! Builds the catalogue anew when a file joins or leaves it: `include_dir` alone follows only the
//! files that it has already seen.

fn main() {
    println!("cargo::rerun-if-changed=catalogue");
}
