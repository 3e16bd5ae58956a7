//! Lines, filled rectangles and words, in whole pixels.

use plotters::backend::SVGBackend;
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontFamily, RGBColor, ShapeStyle, TextStyle};

pub(super) const INK: RGBColor = RGBColor(0x22, 0x28, 0x31);
pub(super) const GREY: RGBColor = RGBColor(0x6b, 0x72, 0x80);
pub(super) const FAINT: RGBColor = RGBColor(0xd5, 0xd9, 0xe0);
pub(super) const PALE: RGBColor = RGBColor(0xf3, 0xf5, 0xf8);
pub(super) const BLUE: RGBColor = RGBColor(0x5b, 0x8d, 0xc4);
pub(super) const BAD: RGBColor = RGBColor(0xd9, 0x4f, 0x4f);
const WHITE: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// Which side of words is at the place that is given.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Left,
    Middle,
    Right,
}

/// What is drawn, in the order in which it is.
pub(super) struct Canvas {
    size: [i32; 2],
    marks: Vec<Mark>,
}

enum Mark {
    Fill([i32; 4], RGBColor),
    Line([i32; 4], RGBColor),
    Text([i32; 2], String, i32, RGBColor, Side),
}

impl Canvas {
    pub(super) const fn new(width: i32, height: i32) -> Self {
        Self { size: [width, height], marks: Vec::new() }
    }

    pub(super) fn fill(&mut self, left: i32, top: i32, right: i32, bottom: i32, colour: RGBColor) {
        self.marks.push(Mark::Fill([left, top, right, bottom], colour));
    }

    pub(super) fn line(&mut self, x: i32, y: i32, to_x: i32, to_y: i32, colour: RGBColor) {
        self.marks.push(Mark::Line([x, y, to_x, to_y], colour));
    }

    /// Words that stand on the line `y`.
    pub(super) fn text(&mut self, x: i32, y: i32, text: &str, size: i32, colour: RGBColor, side: Side) {
        self.marks.push(Mark::Text([x, y], text.to_owned(), size, colour, side));
    }

    /// The picture.
    ///
    /// # Panics
    /// Never: what is drawn into memory is drawn.
    pub(super) fn finish(self) -> String {
        let mut svg = String::new();
        let [width, height] = self.size;
        {
            let mut backend = SVGBackend::with_string(&mut svg, (width.unsigned_abs(), height.unsigned_abs()));
            backend.draw_rect((0, 0), (width, height), &WHITE, true).expect(IN_MEMORY);
            for mark in self.marks {
                mark.draw(&mut backend);
            }
            backend.present().expect(IN_MEMORY);
        }
        svg
    }
}

impl Mark {
    fn draw(self, backend: &mut SVGBackend<'_>) {
        match self {
            Self::Fill([left, top, right, bottom], colour) => {
                backend.draw_rect((left, top), (right, bottom), &colour, true).expect(IN_MEMORY);
            }
            Self::Line([x, y, to_x, to_y], colour) => {
                let style = ShapeStyle { color: colour.to_rgba(), filled: false, stroke_width: 1 };
                backend.draw_line((x, y), (to_x, to_y), &style).expect(IN_MEMORY);
            }
            Self::Text([x, y], text, size, colour, side) => {
                let side = match side {
                    Side::Left => HPos::Left,
                    Side::Middle => HPos::Center,
                    Side::Right => HPos::Right,
                };
                // The library takes a size for the height of a whole line.
                let font = (FontFamily::Monospace, f64::from(size) * 1.24);
                let style = TextStyle::from(font).pos(Pos::new(side, VPos::Bottom)).color(&colour);
                // It lifts words by half the height of an `x`.
                backend.draw_text(&text, &style, (x, y + size / 4)).expect(IN_MEMORY);
            }
        }
    }
}

const IN_MEMORY: &str = "what is drawn into memory is drawn";
