//! The pictures: SVGs without a background, in colours and greys that can be read
//! on white and on black.

use std::path::Path;

use flatslab_benches::record::{Case, Metric, Record};
use flatslab_benches::table::thousands;
use flatslab_benches::{epoch, growth};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// Text, axes and grid.
const GREY: RGBColor = RGBColor(128, 128, 128);
/// Told apart by most who cannot tell all colours apart.
const COLOURS: [RGBColor; 6] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 130, 200),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(200, 150, 0),
    RGBColor(120, 120, 120),
];
const SIZE: (u32, u32) = (860, 420);
/// The share of the width that the names of the lines take.
const NAMES_WIDTH: f64 = 0.26;

type Drawn = Result<(), Box<dyn std::error::Error>>;
type X = Ticked<RangedCoordf64>;
type Y = Ticked<LogCoord<f64>>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, Y>>;

/// A scale with ticks that are given: those that it would choose are not round.
struct Ticked<R> {
    scale: R,
    ticks: Vec<f64>,
}

impl<R: Ranged<ValueType = f64>> Ranged for Ticked<R> {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.scale.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.scale.range()
    }
}

/// One line: its name, and its points.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// The line of each subject that has points.
fn lines(subjects: &[&str], points: impl Fn(&str) -> Option<Vec<(f64, f64)>>) -> Vec<Line> {
    let line = |subject: &&str| {
        Some(Line {
            name: (*subject).to_owned(),
            points: points(subject)?,
        })
    };
    subjects.iter().filter_map(line).collect()
}

/// What stands at the axes.
struct Axes<'a> {
    /// What the picture says.
    title: &'a str,
    /// Nothing where what stands below the axis needs no name, and little room.
    x: Option<&'a str>,
    y: &'a str,
    /// What stands below `0`, `1`, … where these are not numbers.
    names: &'a [&'a str],
    marks: bool,
    /// How a value is written.
    unit: Unit,
}

/// Of the values, which are on a scale of powers.
#[derive(Clone, Copy)]
enum Unit {
    Nanoseconds,
    Mebibytes,
}

impl Unit {
    fn label(self, value: f64) -> String {
        match self {
            Unit::Nanoseconds => duration(value),
            Unit::Mebibytes => format!("{value} MiB"),
        }
    }

    /// Values that a person would choose: powers of ten, with 2 and 5 of each where these are
    /// few; of memory powers of two.
    fn ticks(self, from: f64, to: f64) -> Vec<f64> {
        let powers = |base: f64, steps: &[f64]| {
            let exponents = -3..=12;
            let all = exponents.flat_map(|it| steps.iter().map(move |step| step * base.powi(it)));
            all.filter(|it| (from..=to).contains(it)).collect()
        };
        match self {
            Unit::Mebibytes => powers(2.0, &[1.0]),
            Unit::Nanoseconds if to / from < 1e3 => powers(10.0, &[1.0, 2.0, 5.0]),
            Unit::Nanoseconds => powers(10.0, &[1.0]),
        }
    }
}

/// Numbers from 0 on: 1, 2 or 5 times a power of ten apart, at most nine of them.
fn round_steps(to: f64) -> Vec<f64> {
    let power = 10_f64.powf(to.max(1.0).log10().floor());
    let steps = [0.1, 0.2, 0.5, 1.0].map(|it| it * power);
    let step = steps.into_iter().find(|step| to / step <= 8.5);
    let step = step.unwrap_or(power);
    let count = (to / step).round() as u32;
    (0..=count).map(|it| f64::from(it) * step).collect()
}

fn chart(path: &Path, axes: &Axes<'_>, lines: &[Line]) -> Drawn {
    let points = || lines.iter().flat_map(|line| &line.points);
    let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
    let least = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    if !least.is_finite() {
        return Err("there is nothing to draw".into());
    }
    let (least, highest) = ((least / 1.5).max(0.1), most(|point| point.1));
    let last = most(|point| point.0);
    // The names of the lines stand in the upper left: above the points there is room for them.
    let on_the_left = points().filter(|point| point.0 <= last * NAMES_WIDTH);
    let below = on_the_left.map(|point| point.1).fold(least, f64::max);
    let share = (lines.len() as f64 * 18.0 + 24.0) / 326.0;
    let top = below * (below / least).powf(share / (1.0 - share));
    let top = top.max(highest * 1.5);
    let y_ticks = axes.unit.ticks(least, top);
    let x_ticks = match axes.names.len() {
        0 => round_steps(last),
        names => (0..names as u32).map(f64::from).collect(),
    };
    let last = x_ticks.last().map_or(last, |tick| tick.max(last));

    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    let mut chart = framed(&area, axes, (last, x_ticks), (least, top, y_ticks))?;
    for (number, line) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        chart
            .draw_series(LineSeries::new(
                line.points.iter().copied(),
                colour.stroke_width(2),
            ))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
        if axes.marks {
            let marks = line
                .points
                .iter()
                .map(|&point| Circle::new(point, 3, colour.filled()));
            chart.draw_series(marks)?;
        }
    }
    named(&mut chart)?;
    area.present()?;
    Ok(())
}

/// Draws the title, the axes and the grid.
fn framed<'a, 'b>(
    area: &'a DrawingArea<SVGBackend<'b>, Shift>,
    axes: &Axes<'_>,
    (last, x_ticks): (f64, Vec<f64>),
    (least, top, y_ticks): (f64, f64, Vec<f64>),
) -> Result<Chart<'a, 'b>, Box<dyn std::error::Error>> {
    let (right, below, size) = match axes.x {
        Some(_) => (44, 44, 14),
        None => (24, 30, 12),
    };
    let mut chart = ChartBuilder::on(area)
        .caption(axes.title, text(18))
        .margin(12)
        .margin_right(right)
        .x_label_area_size(below)
        .y_label_area_size(72)
        .build_cartesian_2d(
            Ticked {
                scale: RangedCoordf64::from(0.0..last),
                ticks: x_ticks,
            },
            Ticked {
                scale: LogCoord::from((least..top).log_scale()),
                ticks: y_ticks,
            },
        )?;
    let label = |x: &f64| {
        // A name stands in the middle of its place, or at its number.
        let place = if axes.x.is_some() { x.round() } else { *x };
        let name = axes.names.get(place as usize);
        name.map_or_else(|| thousands(*x as usize), |name| (*name).to_owned())
    };
    let unit = |y: &f64| axes.unit.label(*y);
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh()
        .bold_line_style(GREY.mix(0.25))
        .light_line_style(TRANSPARENT)
        .axis_style(GREY)
        .x_label_formatter(&label)
        .y_label_formatter(&unit)
        .y_desc(axes.y)
        .label_style(text(14))
        .x_label_style(text(size))
        .axis_desc_style(text(14));
    if let Some(x) = axes.x {
        mesh.x_desc(x);
    }
    mesh.draw()?;
    drop(mesh);
    Ok(chart)
}

fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&GREY)
}

/// Draws the names of what was drawn.
fn named<'a, 'b: 'a>(chart: &mut Chart<'a, 'b>) -> Drawn {
    let labels = &mut chart.configure_series_labels();
    let labels = labels.position(SeriesLabelPosition::UpperLeft);
    labels.label_font(text(14)).draw()?;
    Ok(())
}

/// Nanoseconds, in a unit that makes them short.
fn duration(ns: f64) -> String {
    match ns {
        1e9.. => format!("{} s", ns / 1e9),
        1e6.. => format!("{} ms", ns / 1e6),
        1e3.. => format!("{} µs", ns / 1e3),
        _ => format!("{ns} ns"),
    }
}

/// Nanoseconds as prose has them: two digits.
fn about(ns: f64) -> String {
    let power = 10_f64.powf(ns.log10().floor() - 1.0);
    let rounded = (ns / power).round() * power;
    match rounded {
        1e6.. => format!("{} ms", trimmed(rounded / 1e6)),
        1e3.. => format!("{} µs", trimmed(rounded / 1e3)),
        _ => format!("{} ns", trimmed(rounded)),
    }
}

/// With one decimal, if it is not 0.
fn trimmed(number: f64) -> String {
    format!("{number:.1}").trim_end_matches(".0").to_owned()
}

/// Draws what was measured; leaves the pictures alone of what was not.
pub(crate) fn draw(record: &Record, book: Option<&serde_json::Value>, directory: &Path) -> Drawn {
    std::fs::create_dir_all(directory)?;
    let growing = record.cases(growth::BENCH);
    let of = |row, bytes| {
        let mut cases = growing.iter();
        cases.find(|case| case.row == row && case.bytes == bytes)
    };
    // What most programs are: not just started, on the system's allocator.
    if let Some(case) = of(growth::RUNNING, 64) {
        longest(&directory.join("growth.svg"), record, *case)?;
    }
    if let Some(case) = of(growth::RUNNING, 8) {
        percentiles(&directory.join("percentiles.svg"), record, *case)?;
    }
    if record.bench("cycles").is_some() {
        sizes(&directory.join("sizes.svg"), record)?;
    }
    let busiest = epoch::BUSY.iter().rev();
    let drains = record.cases(epoch::BENCH);
    let mut drains = busiest.filter_map(|row| drains.iter().find(|case| case.row == *row));
    if let Some(case) = drains.next() {
        drainability(&directory.join("epoch_drainability.svg"), record, *case)?;
    }
    if let Some(book) = book {
        order_book(&directory.join("order_book.svg"), book)?;
    }
    Ok(())
}

fn ns_of_ticks(record: &Record, bench: &str) -> impl Fn(f64) -> f64 {
    let ticks_per_ns = record.bench(bench).map_or(1.0, |bench| bench.ticks_per_ns);
    move |ticks| ticks / ticks_per_ns
}

/// The slowest insertion of each stretch, over the number of the insertion.
fn longest(path: &Path, record: &Record, case: Case<'_>) -> Drawn {
    let ns = ns_of_ticks(record, case.bench);
    let worst = |subject| record.ns(case, subject, Metric::Worst).unwrap_or(1.0);
    let title = format!(
        "In a running program, the longest insertion into slab takes {0}, {2:.0} times as long as into Slab ({1})",
        about(worst("slab")),
        about(worst("Slab, Slot")),
        worst("slab") / worst("Slab, Slot")
    );
    let points = |subject: &str| {
        let stretches = &record.rows_of(case, subject).last()?.stretches;
        let length = case.live as f64 / stretches.len() as f64;
        let point = |(at, ticks): (usize, &u64)| (at as f64 * length, ns(*ticks as f64).max(1.0));
        Some(stretches.iter().enumerate().map(point).collect())
    };
    let subjects = [
        "slab",
        "BoundedSlab, Slot",
        "Slab, Slot",
        "Slab, 8 spare chunks",
        "KeySlab, grow_in_place",
    ];
    let stretch = thousands(case.live / 500);
    let axes = Axes {
        title: &title,
        x: Some(&format!(
            "insertions so far, values of {} bytes",
            case.bytes
        )),
        y: &format!("slowest of each {stretch}"),
        names: &[],
        marks: false,
        unit: Unit::Nanoseconds,
    };
    chart(path, &axes, &lines(&subjects, points))
}

/// Memory over time, by where sessions are kept.
fn drainability(path: &Path, record: &Record, case: Case<'_>) -> Drawn {
    let points = |subject: &str| {
        let memory = &record.rows_of(case, subject).last()?.stretches;
        let point =
            |(at, bytes): (usize, &u64)| ((at + 1) as f64, *bytes as f64 / f64::from(1 << 20));
        Some(memory.iter().enumerate().map(point).collect())
    };
    let share = record.ratio(case, Metric::Memory, epoch::APART, epoch::MIXED);
    let title = format!(
        "Sessions in an epoch of their own take {:.2} of the memory, and no more with time",
        share.unwrap_or(1.0)
    );
    let axes = Axes {
        title: &title,
        x: Some("thousands of requests: an epoch each, closed four later"),
        y: "committed memory",
        names: &[],
        marks: false,
        unit: Unit::Mebibytes,
    };
    let subjects = [epoch::MIXED, epoch::APART, epoch::BOX];
    chart(path, &axes, &lines(&subjects, points))
}

/// The percentiles of single insertions.
fn percentiles(path: &Path, record: &Record, case: Case<'_>) -> Drawn {
    use Metric::{P50, P90, P99, P999, P9999, Worst};
    let metrics = [P50, P90, P99, P999, P9999, Worst];
    let points = |subject: &str| {
        let point = |(at, metric): (usize, &Metric)| {
            Some((at as f64, record.ns(case, subject, *metric)?.max(1.0)))
        };
        Some(metrics.iter().enumerate().filter_map(point).collect())
    };
    let subjects = [
        "slab",
        "Slab, Slot",
        "Slab, 8 spare chunks",
        "KeySlab",
        "Vec, push",
        "Box",
    ];
    let late = |subject| about(record.ns(case, subject, P999).unwrap_or(1.0));
    let title = format!(
        "Growing: 1 insertion in 1,000 takes {} or more in slab, {} in Slab",
        late("slab"),
        late("Slab, Slot")
    );
    let axes = Axes {
        title: &title,
        x: Some(&format!(
            "percentile of {} insertions, values of {} bytes",
            thousands(case.live),
            case.bytes
        )),
        y: "time of one insertion",
        names: &metrics.map(Metric::name),
        marks: true,
        unit: Unit::Nanoseconds,
    };
    chart(path, &axes, &lines(&subjects, points))
}

/// What an operation costs by the number of live values.
fn sizes(path: &Path, record: &Record) -> Drawn {
    let ns = ns_of_ticks(record, "cycles");
    // At one clock, so that the lines show the sizes and not the core's moods.
    let ticks_per_cycle = record.rows.first().map_or(1.0, |row| row.ticks_per_cycle);
    let points = |subject: &str| {
        let point = |(at, live)| {
            let cycles = record.cycles(Case::of("cycles", "CHURN random", 64, live), subject)?;
            Some((at as f64, ns(cycles * ticks_per_cycle)))
        };
        let lives = [1 << 10, 1 << 13, 1 << 20].into_iter().enumerate();
        Some(lives.filter_map(point).collect())
    };
    let subjects = [
        "slab",
        "BoundedSlab, Slot",
        "Slab, Slot",
        "nexus-slab unbounded",
        "slotmap",
        "Box, malloc",
    ];
    let axes = Axes {
        title: "Random removals and insertions take as long as in slab, at every size",
        x: Some("live values of 64 bytes"),
        y: "time of a removal and an insertion",
        names: &["1,024", "8,192", "1,048,576"],
        marks: true,
        unit: Unit::Nanoseconds,
    };
    chart(path, &axes, &lines(&subjects, points))
}

/// The percentiles of messages to an order book, by the store of its orders: on default
/// pages, without look-ahead.
fn order_book(path: &Path, result: &serde_json::Value) -> Drawn {
    let stores = result["stores"].as_array().ok_or("no stores were timed")?;
    let lines: Vec<Line> = stores
        .iter()
        .filter(|store| store["store"] == *crate::order_book::name(store))
        .map(|store| {
            let fields = ["p50_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"];
            let points = fields
                .iter()
                .enumerate()
                .filter_map(|(at, field)| Some((at as f64, store[field].as_f64()?)));
            Line {
                name: crate::order_book::name(store),
                points: points.collect(),
            }
        })
        .collect();
    let number = |field: &str| thousands(result["flow"][field].as_u64().unwrap_or(0) as usize);
    let axes = Axes {
        title: "An order book: the time of one message, by the store of the orders",
        x: Some(&format!(
            "percentile of {} messages to {} symbols",
            number("messages_replayed"),
            number("symbols")
        )),
        y: "time of one message",
        names: &["p50", "p99", "p99.9", "p99.99", "worst"],
        marks: true,
        unit: Unit::Nanoseconds,
    };
    chart(path, &axes, &lines)
}

/// The longest command to a matching engine that grows from empty, by the store of its orders and
/// the program: a bar to the longest of all rounds, and a dot for each round.
pub(crate) fn engine(path: &Path, engine: &crate::engine::Engine) -> Drawn {
    use crate::engine::{SHORT, longest};
    let programs = &engine.programs;
    let rounds = |result, store| longest(result, store).into_iter().map(|ns| ns as f64);
    let highest = |result, store| rounds(result, store).fold(0.0, f64::max);
    let all = || {
        let pairs = programs
            .iter()
            .flat_map(|it| SHORT.map(|(store, _)| (&it.1, store)));
        pairs.flat_map(|(result, store)| rounds(result, store))
    };
    let (least, most) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(0.0, f64::max),
    );
    if !least.is_finite() {
        return Err("there is nothing to draw".into());
    }
    // Below the shortest bar there is some of it to see, above the longest room for the names.
    let (from, to) = (10_f64.powf(least.log10().floor()), most * 8.0);

    let axes = Axes {
        title: "A matching engine whose books grow: its longest command, by store and allocator",
        x: None,
        y: "longest command",
        names: &SHORT.map(|(_, name)| name),
        marks: false,
        unit: Unit::Nanoseconds,
    };
    let middles = (0..SHORT.len()).map(|at| at as f64 + 0.5).collect();
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    let scale = (from, to, axes.unit.ticks(from, to));
    let mut chart = framed(&area, &axes, (SHORT.len() as f64, middles), scale)?;
    // A store's bars stand together, with a gap of a bar between two stores.
    let width = 1.0 / (programs.len() + 1) as f64;
    for (number, (name, result)) in programs.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let left = |at: usize| at as f64 + (number as f64 + 0.5) * width;
        let bars = SHORT.iter().enumerate().filter_map(|(at, (store, _))| {
            let top = highest(result, store);
            let corners = [(left(at), from), (left(at) + 0.85 * width, top)];
            (top > 0.0).then(|| Rectangle::new(corners, colour.mix(0.75).filled()))
        });
        chart
            .draw_series(bars)?
            .label(*name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        let dots = SHORT.iter().enumerate().flat_map(|(at, (store, _))| {
            let middle = left(at) + 0.425 * width;
            rounds(result, store).map(move |ns| Circle::new((middle, ns), 2, GREY.filled()))
        });
        chart.draw_series(dots)?;
    }
    named(&mut chart)?;
    area.present()?;
    Ok(())
}
