//! Properties of the whole: what is written is found.
