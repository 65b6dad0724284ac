"""What all boards have in common: variables, marks of steps and alerts, links to each other, rows, and no editing."""

from collections.abc import Sequence
from typing import Any

from grafana_foundation_sdk.builders import dashboard as board
from grafana_foundation_sdk.models import dashboard

from dashboards.build.panels import SOURCE
from dashboards.build.queries import LOAD, OF_RUN

TAG = "llmload"
Rows = Sequence[tuple[int, str, Sequence[Any]]]
"""Number, title, panels."""

VARIABLES = {
    "job": ("Load job", "label_values(llmload_run_info, job)"),
    "instance": ("Load generator", 'label_values(llmload_run_info{job=~"$job"}, instance)'),
    "run": ("Run", f"label_values(llmload_run_info{{{LOAD}}}, run)"),
    "workload": ("Class", f"label_values(llmload_requests_total{{{LOAD}}}, workload)"),
    "engine": ("Engine", 'label_values(up{job="llm-server"}, instance)'),
    "gpu_job": ("GPU job", "label_values(llmload_gpu_up, job)"),
    "gpu_host": ("GPU host", 'label_values(llmload_gpu_up{job=~"$gpu_job"}, instance)'),
    "uuid": ("GPU", 'label_values(llmload_gpu_up{job=~"$gpu_job", instance=~"$gpu_host"}, uuid)'),
}
"""Label and query."""


def framed(
    uid: str, title: str, words: str, rows: Rows, shown: Sequence[str], *, since: str, refresh: str
) -> dashboard.Dashboard:
    """A board; of the variables those not `shown` are there and hidden, since links hand all of them on."""
    made = board.Dashboard(title).uid(uid).description(words).tags([TAG]).readonly()
    made.time(since, "now").refresh(refresh).timezone("browser").tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
    made.with_variable(board.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    for name in VARIABLES:
        made.with_variable(variable(name, hidden=name not in shown))
    for mark in MARKS:
        made.annotation(mark)
    made.link(
        board.DashboardLink("llmload").type(dashboard.DashboardLinkType.DASHBOARDS).tags([TAG])
        .keep_time(True).include_vars(True).as_dropdown(False)
    )  # fmt: skip
    for number, name, panels in rows:
        made.with_row(board.Row(name).id(number))
        for panel in panels:
            made.with_panel(panel)
    return made.build()


def variable(name: str, *, hidden: bool) -> board.QueryVariable:
    """One that may be several, or all."""
    label, query = VARIABLES[name]
    made = board.QueryVariable(name).label(label).datasource(SOURCE)
    made.query({"query": query, "refId": "StandardVariableQuery"}).definition(query)
    made.multi(True).include_all(True).all_value(".+").sort(dashboard.VariableSort.ALPHABETICAL_ASC)
    made.current(dashboard.VariableOption(selected=True, text="All", value="$__all"))
    made.refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
    return made.hide(dashboard.VariableHide.HIDE_VARIABLE) if hidden else made


def steps(edge: str, color: str) -> board.AnnotationQuery:
    """A mark where each step began or ended."""
    made = mark(f"Step {edge}", color).use_value_for_time(True)
    made.expr(f"(llmload_step_{edge}_timestamp_seconds{{{LOAD}}} {OF_RUN}) * 1000")
    return made.title_format(f"step {{{{step}}}} {edge}").text_format("{{concurrency}} in flight, {{rate}} per second")


def mark(name: str, color: str) -> board.AnnotationQuery:
    """Marks on all panels."""
    return board.AnnotationQuery().name(name).datasource(SOURCE).enable(True).icon_color(color)


MARKS = (
    steps("start", "blue"),
    steps("end", "semi-dark-blue"),
    mark("Alerts", "red")
    .expr('ALERTS{alertstate="firing", alertname=~"Llmload.+"}')
    .title_format("{{alertname}}")
    .text_format("{{severity}}: {{instance}} {{uuid}}"),
)
