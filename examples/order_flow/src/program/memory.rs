//! What the machine has of memory, asked before it is taken: the system grants what it
//! does not have, and kills the program when that is touched.

use super::Failure;

/// Refuses what does not fit.
///
/// # Errors
///
/// [`Failure::Input`] with both numbers, if `bytes` are more than the system can give.
/// Where it does not say what it can, nothing is refused.
pub fn check(what: &str, bytes: u128) -> Result<(), Failure> {
    match available() {
        Some(available) if bytes > available => Err(Failure::Input(format!(
            "{what} take {} of memory, and {} are available",
            size(bytes),
            size(available)
        ))),
        _ => Ok(()),
    }
}

/// Bytes that can be taken without swapping, as Linux estimates them.
fn available() -> Option<u128> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u128 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// In words.
fn size(bytes: u128) -> String {
    match bytes {
        0..0x4000_0000 => format!("{} MiB", bytes.div_ceil(1 << 20)),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_names_both_numbers() {
        if available().is_none() {
            return;
        }
        assert!(check("a few orders", 1 << 20).is_ok());
        let Err(Failure::Input(reason)) = check("too many orders", 1 << 100) else {
            panic!("more memory than there is");
        };
        assert!(
            reason.starts_with("too many orders take 1180591620717"),
            "{reason}"
        );
        assert!(reason.ends_with("iB are available"), "{reason}");
    }
}
