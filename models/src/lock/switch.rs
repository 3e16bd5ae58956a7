//! Switches: what can be set about a lock.
//!
//! Each is written down once, by [`choices!`]: the type that recipes match on, the words of scenario files,
//! and what `show lock` says of them.

use std::fmt;

/// A switch of a lock, as scenario files know it.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Its place below the lock: `release`, `renew.every`.
    pub path: &'static str,
    /// What it decides.
    pub about: &'static str,
    /// What it may be set to.
    pub takes: Takes,
}

/// What a switch may be set to.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// One of these; the first is the default.
    Words(&'static [Word]),
    /// A whole number.
    Number {
        /// The least.
        least: u16,
        /// The most.
        most: u16,
        /// What holds if it is not set.
        default: &'static str,
        /// Where the switch, or its default, comes from.
        source: &'static str,
    },
    /// A duration.
    Duration {
        /// What holds if it is not set.
        default: &'static str,
        /// Where the switch, or its default, comes from.
        source: &'static str,
    },
    /// A duration that may be drawn anew each time.
    Span {
        /// What holds if it is not set.
        default: &'static str,
        /// Where the switch, or its default, comes from.
        source: &'static str,
    },
}

/// One of the words that a switch may be set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// As it is written.
    pub name: &'static str,
    /// What the lock then does.
    pub meaning: &'static str,
    /// Who does it so, or says that one should.
    pub source: &'static str,
}

/// A switch whose settings are words.
pub trait Choice: Copy + Default + PartialEq + fmt::Debug + 'static {
    /// The switch.
    const SWITCH: Switch;
    /// The settings, in the order of the switch's words.
    const ALL: &'static [Self];
    /// Their words.
    const WORDS: &'static [Word];
}

/// The page that describes the published lock.
pub(crate) const PAGE: &str = "https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/";

/// Writes down a switch: `Type at "path": "what it decides" { Setting = "word", "meaning", "source"; … }`,
/// the default first.
macro_rules! choices {
    (
        $type:ident at $path:literal: $about:literal {
            $default:ident = $default_name:literal, $default_meaning:literal, $default_source:expr;
            $( $variant:ident = $name:literal, $meaning:literal, $source:expr; )*
        }
    ) => {
        #[doc = $about]
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub enum $type {
            #[doc = concat!($default_meaning, ".")]
            #[default]
            $default,
            $( #[doc = concat!($meaning, ".")] $variant, )*
        }

        impl $crate::lock::switch::Choice for $type {
            const SWITCH: $crate::lock::switch::Switch = $crate::lock::switch::Switch {
                path: $path,
                about: $about,
                takes: $crate::lock::switch::Takes::Words(Self::WORDS),
            };
            const ALL: &'static [Self] = &[Self::$default $(, Self::$variant)*];
            const WORDS: &'static [$crate::lock::switch::Word] = &[
                $crate::lock::switch::Word {
                    name: $default_name,
                    meaning: $default_meaning,
                    source: $default_source,
                },
                $( $crate::lock::switch::Word { name: $name, meaning: $meaning, source: $source }, )*
            ];
        }
    };
}
pub(crate) use choices;
