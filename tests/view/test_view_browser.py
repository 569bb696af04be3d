"""Pages in a real browser: what people do with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

import ir_exec
from ir_exec import build
from ir_exec.check import check_model
from ir_exec.debug import compare
from ir_exec.view import PageView, page_of_reports, view
from tests.helpers.deep_network import deep_network
from tests.helpers.facts import mentions
from tests.helpers.ir_text import net, parameter, result
from tests.helpers.network_text import NetworkText, tied_input, tied_output
from tests.onnx.files import model
from tests.view.conftest import Opens

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"

pytestmark = pytest.mark.broad
NAMES = sorted(path.name for path in SAMPLES.glob("*.xml"))


def wait_until(tab: Any, condition: str, argument: Any = None) -> None:
    """Wait for a condition, a function in JavaScript, at most 600 frames.

    Playwright's own way evaluates text in the page, which the page's policy forbids, where a condition does not hold at
    once.
    """
    frames = "left => condition(given) || left === 0 ? done(left) : requestAnimationFrame(() => look(left - 1))"
    body = f"const condition = {condition}, look = {frames}; look(600);"
    assert tab.evaluate(f"given => new Promise((done) => {{ {body} }})", argument), condition


def select(tab: Any, layer: str) -> None:
    """Select a layer of the first network by its key."""
    tab.evaluate("key => page.go(page.networks[0].layers.get(key))", layer)
    wait_until(tab, "key => page.selected?.key === key", layer)


def box_of(tab: Any, layer: str) -> dict[str, float]:
    """The place of a layer on the canvas."""
    box: dict[str, float] = tab.evaluate("key => page.scenes[0].screenBox(page.networks[0].layers.get(key))", layer)
    return box


def click(tab: Any, layer: str, *, count: int = 1) -> None:
    box = box_of(tab, layer)
    position = {"x": box["x"] + box["w"] / 2, "y": box["y"] + min(box["h"], 20) / 2}
    tab.locator("canvas").first.click(position=position, click_count=count)


def with_loop() -> bytes:
    """A network with a loop whose body has a sum in it."""
    text = NetworkText()
    body = NetworkText(text)
    x = body.parameter("1,3")
    total = body.op("Add", x, body.const(np.ones((1, 3), np.float32)))
    going = body.result(body.const(np.array(True)))
    end = body.result(total)
    outer = text.parameter("1,3")
    count, start = text.const(np.array(3, np.int64)), text.const(np.array(True))
    ties = [tied_input(2, x), tied_output(-1, going, purpose="execution_condition"), tied_output(3, end)]
    (output,) = text.loop(1, "Loop", (count, start, outer), body, ties, [(end, x)])
    text.result(output)
    return text.file().xml


@pytest.mark.broad(keep=3)
@pytest.mark.parametrize("name", NAMES)
def test_every_sample_is_drawn(name: str, open_page: Opens) -> None:
    page = view(SAMPLES / name)
    tab = open_page(page)
    assert tab.title() == f"{name} – ir_exec"
    shown = tab.evaluate("page.scenes[0].layout.boxes.length")
    assert shown > sum(not layer.constant for layer in page.networks[0].graph.layers) / 2
    assert tab.locator(".finding").count() == len(page.networks[0].findings)


def test_address_selects_a_layer_and_keeps_it(open_page: Opens) -> None:
    tab = open_page(view(SAMPLES / "gnn_step.xml"), "#layer=12")
    assert tab.inner_text("#details h2").startswith("ScatterElementsUpdate")
    tab.click("#details a:has-text('places')")
    wait_until(tab, "() => page.selected.key === '11'")
    assert tab.inner_text("#details h2").startswith("Broadcast")
    assert tab.url.endswith("#layer=11")
    tab.go_back()
    wait_until(tab, "() => page.selected.key === '12'")
    assert tab.inner_text("#details .name") == "total"


def test_unknown_address_shows_the_overview(open_page: Opens) -> None:
    for fragment in ("#layer=999", "#layer=%FF", "#network=7&layer=0", "#nothing"):
        tab = open_page(view(SAMPLES / "gnn_step.xml"), fragment)
        assert "Inputs (2)" in tab.inner_text("#details")


def test_click_shows_details_of_a_layer(open_page: Opens) -> None:
    inputs = dict(np.load(SAMPLES / "gnn_step.inputs.npz"))
    tab = open_page(view(SAMPLES / "gnn_step.xml", inputs=inputs))
    click(tab, "7")
    text = tab.inner_text("#details")
    for part in ("Transpose opset1", "input_order", "[1, 0]", "declared", "inferred", '<layer id="7"', "min", "max"):
        assert part in text
    assert tab.url.endswith("#layer=7")
    click(tab, "16")
    assert tab.locator("#details .histogram .bars span").count() == 32
    tab.click("#close")
    assert "Inputs (2)" in tab.inner_text("#details")


def test_search_finds_by_name_type_and_tensor(open_page: Opens) -> None:
    page = view(SAMPLES / "bert.xml")
    tab = open_page(page)
    layer = next(layer for layer in page.networks[0].graph.layers if layer.type == "MVN")
    for text in (layer.name, "mvn", "last_hidden_state"):
        tab.fill("input[type=search]#search", text)
        assert tab.locator("#found li[role=option]").count() >= 1
        assert tab.evaluate("page.scenes[0].found.size") >= 1
    tab.fill("#search", layer.name)
    tab.press("#search", "ArrowDown")
    tab.press("#search", "Enter")
    assert tab.inner_text("#details .name") == layer.name
    assert tab.locator("#found").is_hidden()
    tab.fill("#search", "no such layer")
    assert tab.inner_text("#found .count") == "0 layers"
    tab.press("#search", "Escape")
    assert tab.evaluate("page.scenes[0].found") is None


def test_bodies_open_in_place_with_addresses(open_page: Opens) -> None:
    page = view(with_loop())
    (loop,) = [layer for layer in page.networks[0].graph.layers if layer.bodies]
    inner = next(layer for layer in loop.bodies[0].graph.layers if layer.type == "Add")
    assert inner.key == f"{loop.key}/body/{inner.key.rpartition('/')[2]}"
    tab = open_page(page)
    assert box_of(tab, inner.key) is None
    click(tab, loop.key, count=2)
    wait_until(tab, "key => page.networks[0].layers.get(key).groups[0].isOpen", loop.key)
    outside, inside = box_of(tab, loop.key), box_of(tab, inner.key)
    assert outside["y"] < inside["y"]
    assert inside["y"] + inside["h"] < outside["y"] + outside["h"]
    tab.click("#details button:has-text('Collapse body')")
    assert box_of(tab, inner.key) is None
    # A colleague gets the address, and sees the same.
    other = open_page(page, f"#layer={inner.key}")
    assert other.inner_text("#details h2").startswith("Add")
    assert box_of(other, inner.key) is not None


def test_groups_fold_and_open(open_page: Opens) -> None:
    tab = open_page(view(deep_network(400, grouped=True)))
    count = "page.scenes[0].layout.boxes.length"
    tab.click("#fold")
    folded = tab.evaluate(count)
    tab.click("#unfold")
    assert tab.evaluate(count) > 400 > folded
    tab.click("#fold")
    assert tab.evaluate(count) == folded
    # What is selected by its address is opened up to it.
    select(tab, "100")
    assert box_of(tab, "100") is not None
    tab.click("#fold")
    group = "page.networks[0].root.children.find((one) => one.children)"
    box = tab.evaluate(f"page.scenes[0].screenBox({group})")
    tab.locator("canvas").first.click(position={"x": box["x"] + 10, "y": box["y"] + 10})
    assert "layers" in tab.inner_text("#details p")
    tab.keyboard.press("Enter")
    assert tab.evaluate(f"{group}.isOpen")


def test_layers_of_onnx_node_are_a_block(open_page: Opens) -> None:
    network = model("""g (float[1,2,4,4] x, float[3,2,1,1] w, float[3] b) => (float[1,3,4,4] y) {
        h = Conv(x, w, b)
        n = LayerNormalization(h, s)
        y = Relu(n)
    }""")
    for node, name in zip(network.graph.node, ("stem/conv", "stem/norm", "last"), strict=True):
        node.name = name
    network.graph.initializer.append(numpy_helper.from_array(np.ones(4, np.float32), "s"))
    page = view(network.SerializeToString())
    layers = {layer.name: layer.key for layer in page.networks[0].graph.layers}
    tab = open_page(page)
    blocks = "[...page.networks[0].allGroups()].map((one) => one.node).filter(Boolean)"
    assert tab.evaluate(blocks) == ["stem/conv", "stem/norm"]
    tab.click("#fold")
    assert box_of(tab, layers["stem/conv"]) is None
    assert box_of(tab, layers["last"]) is not None
    tab.click("#unfold")
    for name in ("stem/conv", "stem/conv/WithoutBiases"):
        assert box_of(tab, layers[name]) is not None
    node_expression = f"page.networks[0].layers.get({layers['stem/conv/WithoutBiases']!r}).group.node"
    assert tab.evaluate(node_expression) == "stem/conv"


def test_constants_are_folded_until_expanded(open_page: Opens) -> None:
    tab = open_page(view(SAMPLES / "gnn_step.xml"))
    assert box_of(tab, "2") is None
    tab.check("#constants")
    assert box_of(tab, "2") is not None


def test_keys_go_from_layer_to_layer(open_page: Opens) -> None:
    tab = open_page(view(SAMPLES / "gnn_step.xml"), "#layer=9")
    tab.keyboard.press("ArrowDown")
    wait_until(tab, "() => page.selected.key === '10'")
    tab.keyboard.press("ArrowUp")
    wait_until(tab, "() => page.selected.key === '9'")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    wait_until(tab, "() => page.selected.key === '12'")
    tab.keyboard.press("Escape")
    wait_until(tab, "() => page.selected === null")
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.id") == "search"
    tab.keyboard.press("Escape")
    tab.keyboard.press("?")
    assert tab.locator("#help").is_visible()


def test_keys_continue_from_previous_selection(open_page: Opens) -> None:
    tab = open_page(view(SAMPLES / "gnn_step.xml"), "#layer=9")
    press = "key => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))"
    tab.evaluate(f"['ArrowDown', 'ArrowRight'].forEach({press})")
    assert tab.evaluate("page.selected.key") == "12"
    tab.go_back()
    wait_until(tab, "() => page.selected.key === '10'")


def test_table_sorts_filters_and_links_to_graph(open_page: Opens) -> None:
    tab = open_page(view(SAMPLES / "bert.xml"))
    tab.keyboard.press("t")
    types = "[...document.querySelectorAll('.rows .row span:nth-child(3)')].map((one) => one.textContent)"
    tab.click(".heads button:has-text('type')")
    shown = tab.evaluate(types)
    assert shown == sorted(shown, key=str.lower)
    tab.click(".heads button:has-text('type')")
    shown = tab.evaluate(types)
    assert shown == sorted(shown, key=str.lower, reverse=True)
    tab.fill(".filter", "mvn")
    assert set(tab.evaluate(types)) == {"MVN"}
    tab.click(".rows .row")
    assert tab.inner_text("#details h2").startswith("MVN")
    tab.keyboard.press("Escape")
    tab.click(".rows .row")
    tab.locator("#tabs button:has-text('Graph')").click()
    key = tab.evaluate("page.selected.key")
    assert box_of(tab, key) is not None


@pytest.mark.broad(keep=1)
@pytest.mark.parametrize("grouped", [True, False], ids=["grouped", "flat"])
def test_five_thousand_layers(grouped: bool, open_page: Opens) -> None:
    tab = open_page(view(deep_network(5000, grouped=grouped)))
    select(tab, "4321")
    box = box_of(tab, "4321")
    assert 0 < box["x"] < 1280
    assert 0 < box["y"] < 800
    tab.click("#unfold")
    assert tab.evaluate("page.scenes[0].layout.boxes.length") > 5000
    before = tab.evaluate("page.scenes[0].frames")
    for _ in range(5):
        tab.mouse.move(400, 400)
        tab.mouse.down()
        tab.mouse.move(420, 300, steps=3)
        tab.mouse.up()
    wait_until(tab, "before => page.scenes[0].frames > before", before)
    tab.click("#fit")
    tab.keyboard.press("t")
    assert tab.locator(".rows .row").count() < 100


def test_boxes_of_layers_do_not_overlap(open_page: Opens) -> None:
    for page in (
        view(SAMPLES / "bert.xml"),
        view(deep_network(600, grouped=False)),
        view(ROOT / "tests/networks/conv_zoo.xml"),
    ):
        tab = open_page(page)
        tab.click("#unfold")
        boxes = tab.evaluate(
            "page.scenes[0].layout.boxes.filter((box) => !box.inner.length && !box.item.children)"
            ".map((box) => [box.x, box.y, box.x + box.w, box.y + box.h])"
        )
        sorted_boxes = np.array(sorted(boxes, key=lambda box: box[1]))
        for index, (left, _, right, bottom) in enumerate(sorted_boxes):
            below = sorted_boxes[index + 1 :]
            below = below[below[:, 1] < bottom - 0.5]
            assert not ((below[:, 0] < right - 0.5) & (below[:, 2] > left + 0.5)).any()


HOSTILE = [
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "javascript:document.title='owned'",
    "{data}{script}",
    "&lt;b&gt;<!--",
    "a\u202egnp.exe\u2066b",
    "\u2028\u2029\u0085",
    "x" * 2**20,
    "../" * 2000,
    "__proto__/constructor/toString/x",
    "%00%ff#layer=0&network=1",
]


@pytest.mark.broad(keep=5)
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_text(name: str, open_page: Opens) -> None:
    escaped = "".join(f"&#{ord(char)};" for char in name)
    layers = [
        parameter(0, dims=(1, 2), name=escaped),
        parameter(2, dims=(1, 2), name=f"{escaped}/a/b"),
        result(1, dims=(1, 2)),
    ]
    page = view(net(layers, [(0, 0, 1, 0)]))
    tab = open_page(page, "#layer=0")
    assert tab.title() != "owned"
    shown = tab.inner_text("#details .name")
    assert len(shown) < 500
    assert shown == re.sub(r"\s+", " ", page.networks[0].graph.layers[0].name).strip() or len(name) > 500
    assert not set(shown) & set("\u202e\u2066\u2028\x85")
    tab.fill("#search", "Parameter")
    assert tab.locator("#found li[role=option]").count() == 2
    tab.keyboard.press("Enter")
    tab.locator("#tabs button:has-text('Table')").click()
    assert tab.locator("img, iframe, object, embed").count() == 0
    assert tab.evaluate("document.scripts.length") == 3


def test_page_policy_blocks_other_scripts(open_page: Opens) -> None:
    tab = open_page(view(SAMPLES / "gnn_step.xml"), is_quiet=False)
    blocked = tab.evaluate(
        """() => new Promise((resolve) => {
            const found = [];
            document.addEventListener("securitypolicyviolation", (event) => {
                found.push(event.effectiveDirective);
                if (found.length === 3) resolve(found);
            });
            const script = document.createElement("script");
            script.textContent = "document.title = 'owned'";
            document.body.append(script);
            const image = document.createElement("img");
            image.src = "https://example.invalid/x.png";
            document.body.append(image);
            const style = document.createElement("style");
            style.textContent = "body { display: none }";
            document.body.append(style);
        })"""
    )
    assert sorted(blocked) == ["img-src", "script-src-elem", "style-src-elem"]
    assert tab.title() != "owned"


def test_light_and_dark(open_page: Opens) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = open_page(view(SAMPLES / "gnn_step.xml"), color_scheme="light")
    dark = open_page(view(SAMPLES / "gnn_step.xml"), color_scheme="dark")
    assert light.evaluate(background) == "rgb(255, 255, 255)"
    dark_colour = dark.evaluate(background)
    assert dark_colour != "rgb(255, 255, 255)"
    light.click("#theme")
    assert light.evaluate(background) == dark_colour
    light.click("#theme")
    assert light.evaluate(background) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_screen(width: int, open_page: Opens) -> None:
    tab = open_page(view(SAMPLES / "bert.xml"), "#layer=13", viewport={"width": width, "height": 844})
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    for part in ("canvas", "#details", "#search", "#theme"):
        box = tab.locator(part).first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] > 20


def test_networks_side_by_side_share_the_selection(open_page: Opens) -> None:
    tab = open_page(view(SAMPLES / "gnn_step.xml", beside=[SAMPLES / "gnn_step.xml", SAMPLES / "gnn_step.xml"]))
    assert tab.locator("canvas").count() == 3
    select(tab, "12")
    marked = "page.scenes.map((scene) => [...scene.marked].map((layer) => layer.key))"
    assert tab.evaluate(marked) == [["12"], ["12"], ["12"]]
    tab.evaluate("page.go(page.networks[1].layers.get('9'))")
    wait_until(tab, "() => page.selected.key === '9'")
    assert tab.url.endswith("#network=2&layer=9")
    assert tab.evaluate(marked) == [["9"], ["9"], ["9"]]


def test_files_one_at_a_time(open_page: Opens) -> None:
    reports = [check_model(SAMPLES / name) for name in ("gnn_step.xml", "broken.xml", "cache_update.xml")]
    tab = open_page(page_of_reports(reports), is_drawn=False)
    tab.locator("canvas:visible[data-drawn]").wait_for()
    assert tab.evaluate("page.current") == 1
    assert tab.locator(".finding.error").count() == len(reports[1].errors)
    assert "error" in tab.locator(".finding").first.inner_text()
    tab.select_option("#networks", "2")
    wait_until(tab, "() => page.scenes[2].frames > 0")
    assert tab.locator("canvas:visible").count() == 1
    tab.evaluate("page.go(page.networks[0].layers.get('9'))")
    wait_until(tab, "() => page.current === 0")
    assert tab.url.endswith("#layer=9")
    assert box_of(tab, "9")["w"] > 0


def test_a_model_in_a_notebook(open_page: Opens) -> None:
    html = ir_exec.read_model(SAMPLES / "gnn_step.xml")._repr_html_()
    tab = open_page(f"<!doctype html><meta charset=utf-8>{html}", is_drawn=False)
    frame = tab.frame_locator("iframe")
    frame.locator("canvas[data-drawn]").wait_for()
    frame.locator("#search").fill("total")
    frame.locator("#search").press("Enter")
    assert frame.locator("#details h2").inner_text().startswith("ScatterElementsUpdate")
    frame.locator("#details a:has-text('places')").click()
    assert frame.locator("#details h2").inner_text().startswith("Broadcast")


def test_layers_show_error_behind_their_status(open_page: Opens) -> None:
    path = SAMPLES / "gnn_step.xml"
    changed = path.read_bytes().replace(b'reduction="sum"', b'reduction="max"')
    other = ir_exec.read_model(changed, weights=path.with_suffix(".bin").read_bytes())
    inputs = dict(np.load(path.with_suffix(".inputs.npz")))
    tab = open_page(view(path, compare=compare(path, other, inputs)))
    text = "key => page.scenes[0].textOf(page.networks[0].layers.get(key))"
    assert tab.evaluate(text, "12").startswith("wrong 1.8")
    # By itself the next layer is right: what it differs by came to it.
    assert tab.evaluate(text, "13").startswith("carried 1.8")


def test_column_widths_follow_cells(open_page: Opens) -> None:
    """Columns of reports about layers are in sight next to their names."""
    path = SAMPLES / "gnn_step.xml"
    inputs = dict(np.load(path.with_suffix(".inputs.npz")))
    tab = open_page(view(path, compare=compare(path, path, inputs)))
    tab.click("text=Table")
    places = {
        text: (box["x"], box["width"])
        for head in tab.locator(".heads > *").all()
        if (text := head.inner_text().split()[0]) and (box := head.bounding_box())
    }
    assert places["id"][1] < 80
    assert places["type"][1] > 150  # ScatterElementsUpdate
    cell = tab.locator(".rows .row >> text=ScatterElementsUpdate").first
    assert cell.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert places["own"][0] + places["own"][1] < 900


class TestComparison:
    """The page of a comparison opens at the faulty layer, which its verdict links to."""

    @pytest.fixture
    def comparison(self, tmp_path: Path) -> PageView:
        path = tmp_path / "changed.xml"
        path.write_text((SAMPLES / "gnn_step.xml").read_text().replace('reduction="sum"', 'reduction="prod"'))
        path.with_suffix(".bin").write_bytes((SAMPLES / "gnn_step.bin").read_bytes())
        inputs = dict(np.load(SAMPLES / "gnn_step.inputs.npz"))
        return view(SAMPLES / "gnn_step.xml", compare=compare(SAMPLES / "gnn_step.xml", path, inputs))

    def test_it_opens_at_the_faulty_layer(self, comparison: PageView, open_page: Opens) -> None:
        tab = open_page(comparison)
        assert tab.evaluate("page.selected.key") == "12"
        assert tab.locator("#details h2 span").inner_text() == "ScatterElementsUpdate"
        box = box_of(tab, "12")
        size = tab.locator("canvas").bounding_box()
        assert 0 <= box["x"] <= size["width"] - box["w"]
        assert 0 <= box["y"] <= size["height"] - box["h"]
        assert tab.locator("#colours").input_value() == "error"

    def test_verdict_is_a_link(self, comparison: PageView, open_page: Opens) -> None:
        tab = open_page(comparison)
        tab.keyboard.press("Escape")
        wait_until(tab, "() => page.selected === null")
        assert tab.locator("#verdict").inner_text() == mentions("12")
        for _ in range(2):
            tab.locator("#verdict a").click()
            wait_until(tab, "() => page.selected?.key === '12'")
            tab.mouse.wheel(0, 2000)
        assert tab.evaluate("location.hash") == "#layer=12"

    def test_an_address_has_priority(self, comparison: PageView, open_page: Opens) -> None:
        assert open_page(comparison, "#layer=3").evaluate("page.selected.key") == "3"

    def test_other_pages_have_no_verdict(self, open_page: Opens) -> None:
        tab = open_page(view(SAMPLES / "gnn_step.xml"))
        assert tab.locator("#verdict").is_hidden()
        assert tab.evaluate("page.selected") is None

    def test_outputs_have_the_names_of_the_command_line(self, open_page: Opens) -> None:
        tab = open_page(view(SAMPLES / "gnn_step.xml"))
        outputs = [port.name for port in ir_exec.read_model(SAMPLES / "gnn_step.xml").outputs]
        shown = tab.locator("#details h3", has_text="Outputs").locator("xpath=following-sibling::ul[1]/li/a")
        assert shown.all_inner_texts() == outputs


def named_chain(*names: str) -> ir_exec.Model:
    """Layers with these names, one after the other."""
    value: build.Value = build.parameter([1, 3], name="x")
    for name in names:
        value = build.tanh(value, name=name)
    return build.model(build.result(value, name="y"))


def test_renamed_layers_join_the_group_of_their_neighbours(open_page: Opens) -> None:
    """OpenVINO gives a convolution with a folded scale the name `Multiply_5495`."""
    first = [f"layer1/block/{name}" for name in ("a", "b")]
    second = [f"layer2/block/{name}" for name in ("a", "b", "c", "d")]
    names = (*first, "Multiply_1", "Multiply_2", "layer1/block/c", "layer1/block/d", "Add_3", *second, "Multiply_4")
    tab = open_page(view(named_chain(*names)))
    pairs = "[...page.networks[0].layers.values()].map((layer) => [layer.view.name, layer.group?.name ?? null])"
    groups = dict(tab.evaluate(pairs))
    assert {groups["Multiply_1"], groups["Multiply_2"]} == {groups["layer1/block/a"]} == {"layer1/block"}
    # Its input is in another module than its reader; the reader of the last layer is an output of the model.
    assert groups["Add_3"] == "layer2"
    assert groups["Multiply_4"] == groups["x"]
