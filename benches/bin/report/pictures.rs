//! The pictures: SVGs without a background, in colours and greys that can be read
//! on white and on black.

use std::path::Path;

use flatslab_benches::epoch;
use flatslab_benches::record::{Case, Metric, Record};
use flatslab_benches::table::thousands;
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

type Drawn = Result<(), Box<dyn std::error::Error>>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, LogCoord<f64>>>;

/// One line: its name, and its points.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// What stands at the axes.
struct Axes<'a> {
    title: &'a str,
    x: &'a str,
    y: &'a str,
    /// What stands below `0`, `1`, … where these are not numbers.
    names: &'a [&'a str],
    marks: bool,
    /// How a value is written.
    unit: fn(f64) -> String,
}

fn chart(path: &Path, axes: &Axes<'_>, lines: &[Line]) -> Drawn {
    let points = || lines.iter().flat_map(|line| &line.points);
    let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
    let least = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    if !least.is_finite() {
        return Err("there is nothing to draw".into());
    }
    // Above the highest point there is room for the names.
    let y = (least / 1.5).max(0.1)..most(|point| point.1) * 12.0;

    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    let mut chart: Chart<'_, '_> = ChartBuilder::on(&area)
        .caption(axes.title, ("sans-serif", 18).into_font().color(&GREY))
        .margin(12)
        .margin_right(44)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..most(|point| point.0), y.log_scale())?;
    let label = |x: &f64| {
        let named = axes.names.get(x.round() as usize);
        match named {
            Some(name) if (x - x.round()).abs() < 0.01 => (*name).to_owned(),
            Some(_) => String::new(),
            None if axes.names.is_empty() && *x >= 1e5 => format!("{:.1} M", x / 1e6),
            None if axes.names.is_empty() => format!("{x:.0}"),
            None => String::new(),
        }
    };
    let text = ("sans-serif", 14).into_font().color(&GREY);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GREY.mix(0.25))
        .light_line_style(TRANSPARENT)
        .axis_style(GREY)
        .x_labels(if axes.names.is_empty() {
            9
        } else {
            axes.names.len()
        })
        .x_label_formatter(&label)
        .y_label_formatter(&|y| (axes.unit)(*y))
        .x_desc(axes.x)
        .y_desc(axes.y)
        .label_style(text.clone())
        .axis_desc_style(text.clone())
        .draw()?;
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
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(text)
        .draw()?;
    area.present()?;
    Ok(())
}

/// Nanoseconds, in a unit that makes them short.
fn duration(ns: f64) -> String {
    match ns {
        1e6.. => format!("{} ms", ns / 1e6),
        1e3.. => format!("{} µs", ns / 1e3),
        _ => format!("{ns} ns"),
    }
}

/// Bytes, in MiB.
fn mebibytes(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

/// Draws what was measured; leaves the pictures alone of what was not.
pub(crate) fn draw(record: &Record, book: Option<&serde_json::Value>, directory: &Path) -> Drawn {
    std::fs::create_dir_all(directory)?;
    let mut growing = record.cases("growth").into_iter();
    if let Some(case) = growing.find(|case| case.bytes == 8) {
        growth(&directory.join("growth.svg"), record, case)?;
        percentiles(&directory.join("percentiles.svg"), record, case)?;
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
fn growth(path: &Path, record: &Record, case: Case<'_>) -> Drawn {
    let ns = ns_of_ticks(record, case.bench);
    let line = |subject: &str| {
        let stretches = &record.rows_of(case, subject).last()?.stretches;
        let length = case.live as f64 / stretches.len() as f64;
        let points = stretches.iter().enumerate();
        let point = |(at, ticks): (usize, &u64)| (at as f64 * length, ns(*ticks as f64).max(1.0));
        Some(Line {
            name: subject.to_owned(),
            points: points.map(point).collect(),
        })
    };
    let subjects = [
        "slab",
        "BoundedSlab, Slot",
        "Slab, Slot",
        "Slab, 8 spare chunks",
    ];
    let lines: Vec<Line> = subjects.into_iter().filter_map(line).collect();
    let stretch = thousands(case.live / 500);
    let title = format!(
        "Growing from empty: the slowest insertion of each {stretch}, lowest of the rounds"
    );
    let axes = Axes {
        title: &title,
        x: &format!("insertions so far, values of {} bytes", case.bytes),
        y: "time of the slowest",
        names: &[],
        marks: false,
        unit: duration,
    };
    chart(path, &axes, &lines)
}

/// Memory over time, by where sessions are kept.
fn drainability(path: &Path, record: &Record, case: Case<'_>) -> Drawn {
    let line = |subject: &str| {
        let memory = &record.rows_of(case, subject).last()?.stretches;
        let point = |(at, bytes): (usize, &u64)| ((at + 1) as f64, *bytes as f64);
        Some(Line {
            name: subject.to_owned(),
            points: memory.iter().enumerate().map(point).collect(),
        })
    };
    let subjects = [epoch::MIXED, epoch::APART, epoch::BOX];
    let lines: Vec<Line> = subjects.into_iter().filter_map(line).collect();
    let axes = Axes {
        title: "Memory of 4,000 sessions, of which each request replaces two",
        x: "thousands of requests: an epoch each, closed four later",
        y: "committed",
        names: &[],
        marks: false,
        unit: mebibytes,
    };
    chart(path, &axes, &lines)
}

/// The percentiles of single insertions.
fn percentiles(path: &Path, record: &Record, case: Case<'_>) -> Drawn {
    use Metric::{P50, P90, P99, P999, P9999, Worst};
    let metrics = [P50, P90, P99, P999, P9999, Worst];
    let ns = ns_of_ticks(record, case.bench);
    let line = |subject: &str| {
        let point = |(at, metric): (usize, &Metric)| {
            let ticks = record.value(case, subject, *metric)?;
            Some((at as f64, ns(ticks).max(1.0)))
        };
        Line {
            name: subject.to_owned(),
            points: metrics.iter().enumerate().filter_map(point).collect(),
        }
    };
    let subjects = [
        "slab",
        "Slab, Slot",
        "Slab, 8 spare chunks",
        "KeySlab",
        "Vec, push",
        "Box, malloc",
    ];
    let axes = Axes {
        title: "Growing from empty: time of one insertion",
        x: &format!(
            "percentile of {} insertions, values of {} bytes",
            thousands(case.live),
            case.bytes
        ),
        y: "time of one insertion",
        names: &metrics.map(Metric::name),
        marks: true,
        unit: duration,
    };
    chart(path, &axes, &subjects.map(line))
}

/// What an operation costs by the number of live values.
fn sizes(path: &Path, record: &Record) -> Drawn {
    let ns = ns_of_ticks(record, "cycles");
    // At one clock, so that the lines show the sizes and not the core's moods.
    let ticks_per_cycle = record.rows.first().map_or(1.0, |row| row.ticks_per_cycle);
    let line = |subject: &str| {
        let point = |(at, live)| {
            let case = Case {
                bench: "cycles",
                row: "CHURN random",
                bytes: 64,
                live,
            };
            let cycles = record.cycles(case, subject)?;
            Some((at as f64, ns(cycles * ticks_per_cycle)))
        };
        let lives = [1 << 10, 1 << 13, 1 << 20].into_iter().enumerate();
        Line {
            name: subject.to_owned(),
            points: lives.filter_map(point).collect(),
        }
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
        title: "A value removed at random, another inserted",
        x: "live values of 64 bytes",
        y: "time of both",
        names: &["1,024", "8,192", "1,048,576"],
        marks: true,
        unit: duration,
    };
    chart(path, &axes, &subjects.map(line))
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
        title: "An order book: time of one message, by where the orders live",
        x: &format!(
            "percentile of {} messages to {} symbols",
            number("messages_replayed"),
            number("symbols")
        ),
        y: "time of one message",
        names: &["p50", "p99", "p99.9", "p99.99", "worst"],
        marks: true,
        unit: duration,
    };
    chart(path, &axes, &lines)
}
