//! A curve of a table: ratios to the smallest, over sizes that grow by tens.

use plotters::prelude::*;

use super::{
    parts::{Curve, Part},
    table::Table,
};

const COLOURS: [RGBColor; 4] =
    [RGBColor(31, 119, 180), RGBColor(255, 127, 14), RGBColor(44, 160, 44), RGBColor(60, 60, 60)];
const GREY: RGBColor = RGBColor(128, 128, 128);

/// An SVG, if the part has a curve and its table more than one row.
pub fn svg(part: Part, table: &Table) -> Option<String> {
    let Curve { along, up } = part.curve()?;
    let sizes = table.column(along);
    let (first, last) = (*sizes.first()?, *sizes.last()?);
    let max = up.iter().flat_map(|name| table.column(name)).fold(1.5, f64::max);
    if first >= last {
        return None;
    }
    let mut text = String::new();
    draw(&mut text, (along, first, last), max * 1.1, up, |name| {
        sizes.iter().copied().zip(table.column(name)).collect()
    })
    .expect("an SVG");
    Some(text)
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(
    text: &mut String,
    (along, first, last): (&str, f64, f64),
    max: f64,
    up: &[&str],
    points: impl Fn(&str) -> Vec<(f64, f64)>,
) -> Drawn {
    let area = SVGBackend::with_string(text, (720, 360)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .margin_right(40)
        .x_label_area_size(44)
        .y_label_area_size(52)
        .build_cartesian_2d((first..last).log_scale(), 0.0..max)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GREY.mix(0.25))
        .axis_style(GREY)
        .x_desc(along)
        .y_desc("cost, to the smallest")
        .x_label_formatter(&|size| super::numbers::shown(*size))
        .y_label_formatter(&|ratio| format!("{ratio:.1}"))
        .draw()?;
    for (name, colour) in up.iter().zip(COLOURS) {
        let points = points(name);
        let label = name.trim_end_matches(" ratio");
        let series = chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?;
        series.label(label).legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        chart.draw_series(points.into_iter().map(|point| Circle::new(point, 3, colour.filled())))?;
    }
    if up.len() > 1 {
        let mut labels = chart.configure_series_labels();
        labels.position(SeriesLabelPosition::LowerLeft).border_style(GREY.mix(0.4)).background_style(WHITE).draw()?;
    }
    area.present()?;
    Ok(())
}
