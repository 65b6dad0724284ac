"""Kinds of panels with the boards' conventions: source, legend, units, what stands where there is no value.

A panel says in its description how its figures are made and what to do. Thresholds are pairs of a value and a colour.
"""

from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders import common as make
from grafana_foundation_sdk.builders import dashboard as board
from grafana_foundation_sdk.builders import heatmap, prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models import heatmap as heat
from grafana_foundation_sdk.models import prometheus as prom

from dashboards.build.queries import Query

SOURCE = common.DataSourceRef(type_val="prometheus", uid="${datasource}")
CALM, WARN, BAD = "green", "orange", "red"
Thresholds = Sequence[tuple[float, str]]
DASHED = [
    dashboard.DynamicConfigValue("custom.lineStyle", {"fill": "dash", "dash": [10, 10]}),
    dashboard.DynamicConfigValue("custom.fillOpacity", 0),
    dashboard.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": BAD}),
]


def chart(
    number: int,
    title: str,
    words: str,
    unit: str,
    *queries: Query,
    width: int = 8,
    height: int = 8,
    least: float | None = 0,
    most: float | None = None,
    thresholds: Thresholds = (),
    dashed: Sequence[str] = ("SLO",),
    stacked: bool = False,
    bars: bool = False,
    interval: str | None = None,
    nothing: str = "no data",
) -> timeseries.Panel:
    """Lines over time; those that are named `dashed` are bounds that the others are held against."""
    panel = timeseries.Panel().id(number).title(title).description(words).datasource(SOURCE).unit(unit)
    panel.span(width).height(height).no_value(nothing)
    panel.thresholds(steps(thresholds)).thresholds_style(
        make.GraphThresholdsStyleConfig().mode(
            common.GraphThresholdsStyleMode.DASHED if thresholds else common.GraphThresholdsStyleMode.OFF
        )
    )
    panel.line_width(1).fill_opacity(60 if bars else 20 if stacked else 5).show_points(common.VisibilityMode.AUTO)
    if bars:
        panel.draw_style(common.GraphDrawStyle.BARS)
    if stacked:
        panel.stacking(make.StackingConfig().mode(common.StackingMode.NORMAL).group("A"))
    if least is not None:
        panel.min(least)
    if most is not None:
        panel.max(most)
    if interval:
        panel.interval(interval)
    panel.legend(
        make.VizLegendOptions()
        .display_mode(common.LegendDisplayMode.TABLE)
        .placement(common.LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs(["lastNotNull", "mean", "max"])
    )
    panel.tooltip(make.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING))
    for name in dashed:
        if any(query.legend == name for query in queries):
            panel.override_by_name(name, DASHED)
    ask(panel, queries)
    return panel


def figure(
    number: int,
    title: str,
    words: str,
    unit: str,
    query: Query,
    *,
    thresholds: Thresholds = (),
    width: int = 4,
    height: int = 4,
    decimals: int | None = None,
    least: float | None = None,
    most: float | None = None,
    interval: str | None = None,
    nothing: str = "no data",
) -> stat.Panel:
    """The last value in big figures, with its course behind it."""
    panel = stat.Panel().id(number).title(title).description(words).datasource(SOURCE).unit(unit)
    panel.span(width).height(height).no_value(nothing).thresholds(steps(thresholds))
    panel.color_mode(common.BigValueColorMode.VALUE).graph_mode(common.BigValueGraphMode.AREA)
    panel.text_mode(common.BigValueTextMode.VALUE)
    panel.reduce_options(make.ReduceDataOptions().calcs(["lastNotNull"]).values(False).fields(""))
    if decimals is not None:
        panel.decimals(decimals)
    if least is not None:
        panel.min(least)
    if most is not None:
        panel.max(most)
    if interval:
        panel.interval(interval)
    ask(panel, [query])
    return panel


def heated(number: int, title: str, words: str, expr: str, *, width: int = 8, height: int = 8) -> heatmap.Panel:
    """How many values lay in each bucket at each time."""
    panel = heatmap.Panel().id(number).title(title).description(words).datasource(SOURCE)
    panel.span(width).height(height).no_value("no data").interval("10s").unit("short")
    panel.calculate(False).cell_gap(0)
    panel.y_axis(heatmap.YAxisConfig().unit("s").axis_placement(common.AxisPlacement.LEFT))
    panel.color(
        heatmap.HeatmapColorOptions().mode(heat.HeatmapColorMode.SCHEME).scheme("Oranges").steps(64)
        .fill("dark-orange").exponent(0.5)
    )  # fmt: skip
    panel.show_legend()
    ask(panel, [Query(expr, "{{le}}", "heatmap")])
    return panel


def states(
    number: int, title: str, words: str, query: Query, names: dict[str, tuple[str, str]], *, width: int = 12,
    height: int = 8, nothing: str = "no data",
) -> statetimeline.Panel:  # fmt: skip
    """One bar a series; `names` says what each value is called, and its colour."""
    panel = statetimeline.Panel().id(number).title(title).description(words).datasource(SOURCE).unit("short")
    panel.span(width).height(height).no_value(nothing).show_value(common.VisibilityMode.NEVER).row_height(0.8)
    mapped = {
        value: dashboard.ValueMappingResult(text=text, color=color, index=index)
        for index, (value, (text, color)) in enumerate(names.items())
    }
    panel.mappings([dashboard.ValueMap(options=mapped)]).thresholds(steps(())).merge_values(True)
    panel.legend(
        make.VizLegendOptions().display_mode(common.LegendDisplayMode.LIST)
        .placement(common.LegendPlacement.BOTTOM).show_legend(True)
    )  # fmt: skip
    ask(panel, [query])
    return panel


def rows_of(
    number: int,
    title: str,
    words: str,
    queries: Sequence[Query],
    units: dict[str, str],
    *,
    changes: Sequence[dashboard.DataTransformerConfig] = (),
    thresholds: dict[str, Thresholds] | None = None,
    width: int = 24,
    height: int = 8,
    interval: str | None = None,
    nothing: str = "no data",
) -> table.Panel:
    """A table; `units` are by column."""
    panel = table.Panel().id(number).title(title).description(words).datasource(SOURCE).unit("short")
    panel.span(width).height(height).no_value(nothing).thresholds(steps(()))
    for column, unit in units.items():
        more: list[dashboard.DynamicConfigValue] = [dashboard.DynamicConfigValue("unit", unit)]
        if thresholds and column in thresholds:
            given = steps(thresholds[column]).build()
            more += [
                dashboard.DynamicConfigValue("thresholds", given),
                dashboard.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
            ]
        panel.override_by_name(column, more)
    if interval:
        panel.interval(interval)
    panel.transformations(list(changes))
    ask(panel, queries)
    return panel


def change(name: str, **options: Any) -> dashboard.DataTransformerConfig:
    """A transformation of what was answered."""
    return dashboard.DataTransformerConfig(id_val=name, options=options)


def labels_only() -> dashboard.DataTransformerConfig:
    """Of an info metric: what it tells stands in its labels."""
    return change("organize", excludeByName={"Time": True, "Value": True})


def steps(thresholds: Thresholds) -> board.ThresholdsConfig:
    """Colours from the lowest value up: below all of them it is red where something further up is green."""
    rest = [dashboard.Threshold(value=value, color=color) for value, color in thresholds]
    lowest = BAD if any(color == CALM for _, color in thresholds) else CALM
    return (
        board.ThresholdsConfig()
        .mode(dashboard.ThresholdsMode.ABSOLUTE)
        .steps([dashboard.Threshold(value=None, color=lowest), *rest])
    )


def ask(panel: Any, queries: Sequence[Query]) -> None:
    """Put the queries on a panel; they are named A, B, C and so on."""
    for index, query in enumerate(queries):
        target = prometheus.Dataquery().ref_id(chr(ord("A") + index)).datasource(SOURCE).expr(query.expr)
        target.legend_format(query.legend).format(prom.PromQueryFormat(query.format))
        target.editor_mode(prom.QueryEditorMode.CODE)
        panel.with_target(target.instant() if query.instant else target.range())
