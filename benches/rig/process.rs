//! Process figures of the kernel.

/// User and system time that a process has used so far, in microseconds.
pub fn cpu_us(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    ticks_us(fields[11..13].iter().map(|field| field.parse::<u64>().unwrap_or(0)).sum())
}

/// What all processes of the machine have used so far, in microseconds.
pub fn machine_us() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<u64> =
        stat.lines().next().unwrap_or_default().split_whitespace().skip(1).flat_map(str::parse).collect();
    // user, nice, system, then idle and what waits for a disk, then interrupts.
    ticks_us(fields.iter().enumerate().filter(|(at, _)| [0, 1, 2, 5, 6].contains(at)).map(|(_, ticks)| ticks).sum())
}

/// Resident memory, in bytes.
pub fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn ticks_us(ticks: u64) -> f64 {
    ticks as f64 * 10_000.0
}
