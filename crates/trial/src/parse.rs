//! Reads a specification from JSON.

use crate::error::SpecError;
use crate::spec::Spec;

/// Reads a trial from JSON.
///
/// # Errors
///
/// If the text is not JSON or not a trial. The error states the place.
pub fn parse(json: &str) -> Result<Spec, SpecError> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let spec = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        SpecError::new(place(&error.path().to_string()), describe(error.inner()))
    })?;
    reader.end().map_err(|error| SpecError::new(".", error.to_string()))?;
    Ok(spec)
}

/// Returns the place of an error. For an error in a key `kind`, the place is the value that
/// contains the key.
fn place(path: &str) -> &str {
    path.strip_suffix(".kind").unwrap_or(path)
}

/// Describes an error. For a number that does not fit, the description includes the allowed range.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem);
    let most = match problem.rsplit_once("expected ").map(|(_, kind)| kind) {
        Some("u8") => u64::from(u8::MAX),
        Some("u32") => u64::from(u32::MAX),
        Some("u64" | "usize") => u64::MAX,
        _ => return problem.to_owned(),
    };
    match problem.split('`').nth(1) {
        Some(found) => format!("`{found}` is not a whole number between 0 and {most}"),
        None => format!("{problem}, a whole number between 0 and {most}"),
    }
}
