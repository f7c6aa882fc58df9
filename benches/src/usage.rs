//! What a process has used, as the kernel counts it.

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Duration;

    use nix::time::clock_getcpuclockid;
    use nix::unistd::Pid;
    use procfs::process::Process;

    /// Processor time of all threads, in user mode and in the kernel.
    pub(crate) fn processor_time(pid: u32) -> anyhow::Result<Duration> {
        let clock = clock_getcpuclockid(Pid::from_raw(pid.try_into()?))?;
        Ok(clock.now()?.into())
    }

    /// Resident memory in bytes, pages of the program file included.
    pub(crate) fn resident(pid: u32) -> anyhow::Result<u64> {
        let status = Process::new(pid.try_into()?)?.status()?;
        let kib = status.vmrss.ok_or_else(|| anyhow::anyhow!("process {pid} has ended"))?;
        Ok(kib * 1024)
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::time::Duration;

    pub(crate) fn processor_time(_: u32) -> anyhow::Result<Duration> {
        anyhow::bail!("measured on Linux only")
    }

    pub(crate) fn resident(_: u32) -> anyhow::Result<u64> {
        anyhow::bail!("measured on Linux only")
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{processor_time, resident};
#[cfg(target_os = "linux")]
pub(crate) use linux::{processor_time, resident};
