//! The default memory limit of the private server: half of the available memory. The other half is for the rewrite of its file,
//! which works on a copy: pages that change during the rewrite exist twice.

use std::{
    fs,
    path::{Path, PathBuf},
};

const GROUPS: &str = "/sys/fs/cgroup";
/// Control groups v1 report "no limit" as a large number like this.
const NO_LIMIT: u64 = 1 << 60;

/// Half of the machine's memory or of the control group's limit, whichever is lower. 0 means no limit, if neither is known.
pub(super) fn half() -> u64 {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    machine().into_iter().chain(group(Path::new(GROUPS), &own)).min().unwrap_or(0) / 2
}

#[cfg(target_os = "linux")]
fn machine() -> Option<u64> {
    let info = rustix::system::sysinfo();
    info.totalram.checked_mul(u64::from(info.mem_unit))
}

#[cfg(not(target_os = "linux"))]
fn machine() -> Option<u64> {
    None
}

/// The lowest limit of our control group and its ancestors. `own` is `0::/a/b`, or in v1 a line `5:memory:/a/b`.
/// In a container the path may be the host's, so only some of its ancestors exist.
fn group(groups: &Path, own: &str) -> Option<u64> {
    let line = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let (_, kinds, path) = (parts.next()?, parts.next()?, parts.next()?.trim_start_matches('/'));
        match kinds {
            "" => Some((groups.to_owned(), path.to_owned(), "memory.max")),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                Some((groups.join("memory"), path.to_owned(), "memory.limit_in_bytes"))
            }
            _ => None,
        }
    };
    own.lines().filter_map(line).filter_map(|(root, path, file)| least(&root, &path, file)).min()
}

fn least(root: &Path, path: &str, file: &str) -> Option<u64> {
    let own: PathBuf = root.join(path);
    let levels = own.ancestors().take_while(|level| level.starts_with(root));
    let limit = |level: &Path| fs::read_to_string(level.join(file)).ok()?.trim().parse::<u64>().ok();
    levels.filter_map(limit).filter(|limit| *limit < NO_LIMIT).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_limit_of_the_parent_groups_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let groups = folder.path();
        let write = |file: &str, text: &str| {
            let file = groups.join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, text).expect("written");
        };
        assert_eq!(group(groups, "0::/a/b\n"), None);
        write("a/b/memory.max", "max\n");
        write("a/memory.max", "3000000\n");
        assert_eq!(group(groups, "0::/a/b\n"), Some(3_000_000));
        write("a/b/memory.max", "2000000\n");
        assert_eq!(group(groups, "0::/a/b\n"), Some(2_000_000));
        assert_eq!(group(groups, "0::/\n"), None, "others' limits are not ours");
        write("memory.max", "1000\n");
        assert_eq!(group(groups, "0::/the/hosts/own\n"), Some(1_000));
        write("memory/c/memory.limit_in_bytes", "5000\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(group(groups, "11:cpu,memory:/c\n4:cpu:/x\n"), Some(5_000));
        assert_eq!(group(groups, "11:memory:/d\n"), None);
    }

    #[test]
    fn this_machine_has_some_memory() {
        assert!(half() > 1 << 20);
    }
}
