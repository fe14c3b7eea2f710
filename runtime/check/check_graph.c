/* Drawings of a schedule: Graphviz, SVG, and an HTML page that pans and zooms the SVG. The layout
 * is schedule_diagram.c; this file only emits markup. */
#include "check/schedule_diagram.h"

enum {
  LANE_WIDTH = 230,
  BOX_WIDTH = 190,
  BOX_HEIGHT = 26,
  ROW_HEIGHT = 44,
  MARGIN = 20,
  HEAD = 70
};

/* --- markup --- */

/* Escapes the five special characters of XML and drops control characters. */
static void add_escaped(hr_strbuf_t *text, const char *from, size_t size) {
  for (size_t i = 0; i < size; i++) {
    switch (from[i]) {
      case '<':
        hr_strbuf_add_str(text, "&lt;");
        break;
      case '>':
        hr_strbuf_add_str(text, "&gt;");
        break;
      case '&':
        hr_strbuf_add_str(text, "&amp;");
        break;
      case '"':
        hr_strbuf_add_str(text, "&quot;");
        break;
      default:
        hr_strbuf_add_char(text, (unsigned char)from[i] < ' ' ? ' ' : from[i]);
    }
  }
}

/* Labels too long for a box are cut; the tooltip has the whole label. */
static void add_label(hr_strbuf_t *text, const diagram_t *diagram, const diagram_box_t *box,
                      size_t most) {
  hr_strbuf_t label;
  hr_strbuf_init(&label);
  schedule_diagram_label(&label, diagram, box);
  bool cut = label.size > most;
  if (label.data) add_escaped(text, label.data, cut ? most - 1 : label.size);
  if (cut) hr_strbuf_add_str(text, "&#8230;");
  hr_strbuf_deinit(&label);
}

static const check_event_t *event_of(const diagram_t *diagram, const diagram_box_t *box) {
  return &diagram->result->of[diagram->lanes.data[box->lane].rank]->events.data[box->event];
}

/* Tooltip: rank, full label, source location, channel, and the meaning of the mark. */
static void add_tip(hr_strbuf_t *text, const diagram_t *diagram, const diagram_box_t *box) {
  static const char *const marks[] = {"", ", where it is stuck", ", which does not happen"};
  const hlo_instr_t *instr = event_of(diagram, box)->instr;
  hr_str_t path = hr_str_from(instr->parent->module->source.path);
  if (!path.size) path = HR_STR("program");
  hr_strbuf_printf(text, "rank %d: ", diagram->lanes.data[box->lane].rank);
  add_label(text, diagram, box, SIZE_MAX);
  hr_strbuf_add_str(text, " (");
  add_escaped(text, path.data, path.size);
  hr_strbuf_printf(text, ":%u)", instr->line);
  if (event_of(diagram, box)->site && event_of(diagram, box)->site->channel)
    hr_strbuf_printf(text, ", channel %ld", (long)event_of(diagram, box)->site->channel);
  hr_strbuf_add_str(text, marks[box->mark]);
}

/* --- SVG --- */

static int lane_x(int lane) { return MARGIN + lane * LANE_WIDTH + LANE_WIDTH / 2; }
static int row_y(int row) { return HEAD + MARGIN + row * ROW_HEIGHT; }

/* Draws a vertical line per process, from the head to the last row. */
static void add_lanes(hr_strbuf_t *text, const diagram_t *diagram) {
  int bottom = row_y(diagram->row_count);
  for (size_t l = 0; l < diagram->lanes.count; l++) {
    const diagram_lane_t *lane = &diagram->lanes.data[l];
    int x = lane_x((int)l);
    hr_strbuf_printf(text, "<line class=\"lane\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", x,
                     HEAD, x, bottom);
    hr_strbuf_printf(text, "<text class=\"rank\" x=\"%d\" y=\"%d\">rank %d%s</text>\n", x, HEAD - 8,
                     lane->rank, lane->cut ? " &#8230;" : "");
  }
}

/* Draws an event as a box on its lane; its colour tells whether it is stuck or awaited. */
static void add_boxes(hr_strbuf_t *text, const diagram_t *diagram) {
  static const char *const classes[] = {"plain", "stuck", "awaited"};
  for (size_t i = 0; i < diagram->boxes.count; i++) {
    const diagram_box_t *box = &diagram->boxes.data[i];
    int x = lane_x(box->lane), y = row_y(box->row);
    if (box->hidden) continue;
    hr_strbuf_printf(text, "<g class=\"%s\"><title>", classes[box->mark]);
    add_tip(text, diagram, box);
    hr_strbuf_printf(text, "</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>",
                     x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2, BOX_WIDTH, BOX_HEIGHT);
    hr_strbuf_printf(text, "<text x=\"%d\" y=\"%d\">", x, y + 4);
    add_label(text, diagram, box, 28);
    hr_strbuf_add_str(text, "</text></g>\n");
  }
}

/* Draws an arrow that leaves the box towards the other lane, bends, and arrives horizontally.
 * Within one lane it goes around on the right. */
static void add_arrow(hr_strbuf_t *text, const diagram_t *diagram, const diagram_arrow_t *arrow) {
  const diagram_box_t *from = &diagram->boxes.data[arrow->from],
                      *to = &diagram->boxes.data[arrow->to];
  int side = to->lane > from->lane ? 1 : -1, entry = -side;
  if (to->lane == from->lane) side = entry = 1;
  int x1 = lane_x(from->lane) + side * BOX_WIDTH / 2,
      x2 = lane_x(to->lane) + entry * (BOX_WIDTH / 2 + 3);
  int y1 = row_y(from->row), y2 = row_y(to->row), bend = to->lane == from->lane ? 30 : 40;
  hr_strbuf_printf(text,
                   "<path class=\"%s\" d=\"M%d %d C%d %d %d %d %d %d\" marker-end=\"url(#%s)\"/>\n",
                   arrow->stuck ? "waits" : "message", x1, y1, x1 + side * bend, y1,
                   x2 + entry * bend, y2, x2, y2, arrow->stuck ? "red" : "grey");
}

static void add_head(hr_strbuf_t *text, const diagram_t *diagram) {
  int width = 2 * MARGIN + (int)diagram->lanes.count * LANE_WIDTH,
      height = row_y(diagram->row_count) + MARGIN;
  if (width < 640) width = 640;
  hr_strbuf_printf(text,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\">\n",
                   width, height, width, height);
  hr_strbuf_add_str(text,
                    "<style>\n"
                    "text { font: 12px sans-serif; text-anchor: middle; fill: #222 }\n"
                    ".title { font-size: 15px; text-anchor: start } .rank { font-weight: bold }\n"
                    ".lane { stroke: #ccc } rect { fill: #eef3fa; stroke: #7a8ca5 }\n"
                    ".stuck rect { fill: #fde0dd; stroke: #c00; stroke-width: 2 }\n"
                    ".awaited rect { fill: #fff; stroke: #c00; stroke-dasharray: 4 3 } .awaited "
                    "text { fill: #777 }\n"
                    ".message { fill: none; stroke: #6b7f99; stroke-width: 1.3 }\n"
                    ".waits { fill: none; stroke: #c00; stroke-width: 2; stroke-dasharray: 6 3 }\n"
                    "</style>\n<defs>");
  static const char *const markers[][2] = {{"grey", "#6b7f99"}, {"red", "#c00"}};
  for (int m = 0; m < 2; m++)
    hr_strbuf_printf(text,
                     "<marker id=\"%s\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
                     "markerWidth=\"7\" markerHeight=\"7\" "
                     "orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0 0L8 4L0 8z\" "
                     "fill=\"%s\"/></marker>",
                     markers[m][0], markers[m][1]);
  hr_strbuf_printf(text,
                   "</defs>\n<rect width=\"%d\" height=\"%d\" style=\"fill:#fff;stroke:none\"/>\n",
                   width, height);
  hr_strbuf_printf(text, "<text class=\"title\" x=\"%d\" y=\"28\">", MARGIN);
  add_escaped(text, diagram->result->headline, __builtin_strlen(diagram->result->headline));
  hr_strbuf_add_str(text, "</text>\n");
}

static void add_svg(hr_strbuf_t *text, const diagram_t *diagram) {
  add_head(text, diagram);
  add_lanes(text, diagram);
  add_boxes(text, diagram);
  for (size_t i = 0; i < diagram->arrows.count; i++)
    add_arrow(text, diagram, &diagram->arrows.data[i]);
  hr_strbuf_add_str(text, "</svg>\n");
}

/* --- HTML --- */

static const char page_begin[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>hlorun check</title>\n"
    "<style>\nhtml, body { margin: 0; height: 100%; overflow: hidden }\n"
    "#view { position: absolute; inset: 0; overflow: auto; cursor: grab; background: #fff }\n"
    "#bar { position: fixed; right: 12px; top: 10px; z-index: 1; font: 13px sans-serif }\n"
    "#bar button { min-width: 2em; padding: 3px 8px }\n</style></head>\n<body>\n"
    "<div id=\"bar\"><button id=\"out\">&minus;</button> <button id=\"in\">+</button> "
    "<button id=\"one\">1:1</button> <button id=\"fit\">fit</button> <span "
    "id=\"scale\"></span></div>\n"
    "<div id=\"view\">\n";

/* The picture is panned by dragging and by the wheel, and zoomed by Ctrl and the wheel, and by the
 * keys +, - and 0. */
static const char page_end[] =
    "</div>\n<script>\n"
    "const view = document.getElementById('view'), svg = view.querySelector('svg');\n"
    "const width = svg.width.baseVal.value, height = svg.height.baseVal.value;\n"
    "let scale = 1, held = null;\n"
    "function zoom(to, x, y) {\n"
    "  to = Math.min(8, Math.max(0.02, to));\n"
    "  const px = (view.scrollLeft + x) / scale, py = (view.scrollTop + y) / scale;\n"
    "  scale = to;\n"
    "  svg.setAttribute('width', width * scale);\n"
    "  svg.setAttribute('height', height * scale);\n"
    "  view.scrollLeft = px * scale - x;\n"
    "  view.scrollTop = py * scale - y;\n"
    "  document.getElementById('scale').textContent = Math.round(100 * scale) + '%';\n"
    "}\n"
    "function middle(to) { zoom(to, view.clientWidth / 2, view.clientHeight / 2); }\n"
    "function fit() { zoom(Math.min(view.clientWidth / width, view.clientHeight / height), 0, 0); "
    "}\n"
    "view.addEventListener('wheel', e => {\n"
    "  if (!e.ctrlKey) return;\n"
    "  e.preventDefault();\n"
    "  zoom(scale * Math.exp(-e.deltaY / 400), e.clientX, e.clientY);\n"
    "}, {passive: false});\n"
    "view.addEventListener('pointerdown', e => {\n"
    "  held = [e.clientX + view.scrollLeft, e.clientY + view.scrollTop];\n"
    "  view.setPointerCapture(e.pointerId);\n"
    "});\n"
    "view.addEventListener('pointermove', e => {\n"
    "  if (held) { view.scrollLeft = held[0] - e.clientX; view.scrollTop = held[1] - e.clientY; }\n"
    "});\n"
    "view.addEventListener('pointerup', () => { held = null; });\n"
    "document.getElementById('in').onclick = () => middle(scale * 1.25);\n"
    "document.getElementById('out').onclick = () => middle(scale / 1.25);\n"
    "document.getElementById('one').onclick = () => middle(1);\n"
    "document.getElementById('fit').onclick = fit;\n"
    "addEventListener('keydown', e => {\n"
    "  if (e.key == '+') middle(scale * 1.25);\n"
    "  if (e.key == '-') middle(scale / 1.25);\n"
    "  if (e.key == '0') middle(1);\n"
    "});\n"
    "middle(1);\n"
    "</script>\n</body></html>\n";

static void add_html(hr_strbuf_t *text, const diagram_t *diagram) {
  hr_strbuf_add_str(text, page_begin);
  add_svg(text, diagram);
  hr_strbuf_add_str(text, page_end);
}

/* --- Graphviz --- */

static void add_dot_label(hr_strbuf_t *text, const diagram_t *diagram, const diagram_box_t *box) {
  hr_strbuf_t label;
  hr_strbuf_init(&label);
  schedule_diagram_label(&label, diagram, box);
  for (size_t i = 0; i < label.size; i++) {
    if (label.data[i] == '"' || label.data[i] == '\\') hr_strbuf_add_char(text, '\\');
    hr_strbuf_add_char(text, label.data[i]);
  }
  hr_strbuf_printf(text, "\\nline %u", event_of(diagram, box)->instr->line);
  hr_strbuf_deinit(&label);
}

static void add_dot_lane(hr_strbuf_t *text, const diagram_t *diagram, size_t l) {
  static const char *const styles[] = {"", ", color=red, penwidth=2", ", color=red, style=dashed"};
  const diagram_lane_t *lane = &diagram->lanes.data[l];
  hr_strbuf_printf(text, "  subgraph cluster_%d {\n    label=\"rank %d\";\n", lane->rank,
                   lane->rank);
  for (size_t i = lane->first_box; i < lane->first_box + lane->box_count; i++) {
    if (diagram->boxes.data[i].hidden) continue;
    hr_strbuf_printf(text, "    b%zu [label=\"", i);
    add_dot_label(text, diagram, &diagram->boxes.data[i]);
    hr_strbuf_printf(text, "\"%s];\n", styles[diagram->boxes.data[i].mark]);
    if (i > lane->first_box && !diagram->boxes.data[i - 1].hidden)
      hr_strbuf_printf(text, "    b%zu -> b%zu [color=gray, weight=8];\n", i - 1, i);
  }
  hr_strbuf_add_str(text, "  }\n");
}

static void add_dot(hr_strbuf_t *text, const diagram_t *diagram) {
  hr_strbuf_printf(text, "digraph schedule {\n  label=\"%s\";\n  node [shape=box, fontsize=10];\n",
                   diagram->result->headline);
  for (size_t l = 0; l < diagram->lanes.count; l++) add_dot_lane(text, diagram, l);
  for (size_t i = 0; i < diagram->arrows.count; i++)
    hr_strbuf_printf(text, "  b%zu -> b%zu [constraint=false%s];\n", diagram->arrows.data[i].from,
                     diagram->arrows.data[i].to,
                     diagram->arrows.data[i].stuck ? ", color=red, style=dashed, penwidth=2" : "");
  hr_strbuf_add_str(text, "}\n");
}

hr_status_t check_graph(hr_strbuf_t *text, const check_result_t *result, check_graph_form_t form) {
  diagram_t diagram;
  hr_status_t st = schedule_diagram_init(&diagram, result);
  if (!st && form == CHECK_GRAPH_DOT) add_dot(text, &diagram);
  if (!st && form == CHECK_GRAPH_SVG) add_svg(text, &diagram);
  if (!st && form == CHECK_GRAPH_HTML) add_html(text, &diagram);
  schedule_diagram_deinit(&diagram);
  return st;
}
