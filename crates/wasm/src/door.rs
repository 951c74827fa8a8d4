//! The exported functions of the WebAssembly module.
//!
//! A page requests a buffer ([`request_buffer`]), writes a text into it, calls [`answer`], and
//! reads the text at [`answer_address`]. The buffers belong to this module, so the page passes no
//! address, and no block is `unsafe`. The attribute that exports a name counts as unsafe code,
//! because two functions with one name are undefined behaviour. Only this file has that attribute.

#![allow(unsafe_code)]

use std::cell::RefCell;

use crate::request;

#[derive(Default)]
struct Buffers {
    request: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// Replaces the request in the buffer by `length` zero bytes, and returns their address.
#[unsafe(no_mangle)]
pub extern "C" fn request_buffer(length: usize) -> *mut u8 {
    BUFFERS.with_borrow_mut(|buffers| {
        buffers.request.clear();
        buffers.request.resize(length, 0);
        buffers.request.as_mut_ptr()
    })
}

/// Answers the request in the buffer, and returns the length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    BUFFERS.with_borrow_mut(|buffers| {
        let text = String::from_utf8_lossy(&buffers.request);
        buffers.answer = request::answer(&text).into_bytes();
        buffers.answer.len()
    })
}

/// Returns the address of the last answer, which is valid until the next call of [`answer`].
#[unsafe(no_mangle)]
pub extern "C" fn answer_address() -> *const u8 {
    BUFFERS.with_borrow(|buffers| buffers.answer.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_not_a_request_is_answered_with_an_error() {
        assert!(!request_buffer(3).is_null());
        let length = answer();
        assert!(!answer_address().is_null());
        let told = BUFFERS.with_borrow(|buffers| String::from_utf8(buffers.answer.clone()));
        let told = told.expect("an answer is text");
        assert_eq!(told.len(), length);
        assert!(told.starts_with(r#"{"error":{"at":"#), "{told}");
    }
}
