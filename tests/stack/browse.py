"""Runs in the browser's image: opens a notebook in JupyterLab, runs all of its cells as a person would, takes pictures,
and prints what is to be seen as one JSON object.

browse.py URL NOTEBOOK PICTURES: the URL has the token; pictures are PICTURES-<width>.png, the whole notebook on each.
"""

import json
import sys
import time
import urllib.parse
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

WIDE, NARROW, HIGH, HIGHEST = 1280, 600, 1000, 16000
PATIENCE = 90
PROMPTS = ".jp-Notebook .jp-CodeCell .jp-InputPrompt"


def chromium() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    # The container is the sandbox: it has no capability and no privilege to make another.
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDE},{HIGH}"):
        options.add_argument(word)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))


def texts(driver: webdriver.Chrome, selector: str) -> list[str]:
    return driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(each => each.textContent.trim())", selector
    )


def count(driver: webdriver.Chrome, selector: str) -> int:
    return len(driver.find_elements(By.CSS_SELECTOR, selector))


def choose(driver: webdriver.Chrome, menu: str, item: str) -> None:
    for label, text in (("lm-MenuBar-itemLabel", menu), ("lm-Menu-itemLabel", item)):
        path = f"//div[contains(@class, '{label}') and normalize-space() = '{text}']"
        WebDriverWait(driver, PATIENCE).until(lambda _, path=path: driver.find_element(By.XPATH, path).is_displayed())
        driver.find_element(By.XPATH, path).click()


def idle(driver: webdriver.Chrome) -> bool:
    """As the status bar has it: the notebook's own indicator is idle before there is a kernel, too."""
    return any(text.endswith("| Idle") for text in texts(driver, "#jp-main-statusbar .jp-StatusBar-TextItem"))


def run_all(driver: webdriver.Chrome) -> None:
    WebDriverWait(driver, PATIENCE).until(idle)
    choose(driver, "Run", "Run All Cells")
    WebDriverWait(driver, PATIENCE).until(lambda _: any(char.isdigit() for char in texts(driver, PROMPTS)[0]))
    deadline, quiet = time.monotonic() + PATIENCE, 0
    # Between two cells a kernel is idle, too: what counts is that it stays so.
    while quiet < 4:
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {PATIENCE} s the kernel is still busy")
        time.sleep(0.5)
        quiet = quiet + 1 if idle(driver) and not any("*" in prompt for prompt in texts(driver, PROMPTS)) else 0


def show_all(driver: webdriver.Chrome, width: int) -> None:
    """A window as high as the notebook: JupyterLab draws what is in sight."""
    for high in (HIGHEST, None):
        # Asked at once, because a cell that is asked for and measured later may have been drawn anew.
        notebook = driver.execute_script("""
            const cells = [...document.querySelectorAll(".jp-Notebook .jp-Cell")].map(each => each.getBoundingClientRect());
            return Math.ceil(cells.at(-1).bottom - cells[0].top);
        """)
        around = 350
        driver.set_window_size(width, high or min(HIGHEST, notebook + around))
        driver.execute_script("document.querySelector('.jp-Notebook .jp-WindowedPanel-outer').scrollTop = 0")
        time.sleep(1)


def save(driver: webdriver.Chrome) -> None:
    """Saves the notebook, and waits until the server has it: its tab is then no more marked as changed."""
    choose(driver, "File", "Save Notebook")
    WebDriverWait(driver, PATIENCE).until(lambda _: count(driver, ".jp-mod-dirty") == 0)


def main(url: str, notebook: str, pictures: str) -> None:
    driver = chromium()
    try:
        address = urllib.parse.urlsplit(url)
        # A workspace of its own, because another browser may be looking at another notebook.
        path = f"/lab/workspaces/{Path(notebook).stem}/tree/{notebook}"
        driver.get(address._replace(path=path, query=f"{address.query}&reset").geturl())
        WebDriverWait(driver, PATIENCE).until(lambda _: count(driver, PROMPTS) > 0)
        run_all(driver)
        show_all(driver, WIDE)
        driver.save_screenshot(f"{pictures}-{WIDE}.png")
        seen = {
            "prompts": texts(driver, PROMPTS),
            # JupyterLab shows errors as it shows what is written to stderr.
            "errors": texts(driver, '.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"]'),
            "pictures": count(driver, ".jp-OutputArea-output img"),
            "broken_pictures": driver.execute_script(
                "return [...document.querySelectorAll('.jp-OutputArea-output img')].filter(e => !e.naturalWidth).length"
            ),
            "outputs": texts(driver, ".jp-Notebook .jp-OutputArea-output"),
            "dialogs": texts(driver, ".jp-Dialog, .Toastify__toast"),
            "files": texts(driver, ".jp-DirListing-itemText"),
        }
        save(driver)
        driver.set_window_size(NARROW, HIGH)
        # Without the list of files, which would take half of the screen.
        driver.get(address._replace(path=f"/doc/tree/{notebook}").geturl())
        unlike = "the notebook that was opened again is not the one that ran"
        WebDriverWait(driver, PATIENCE).until(lambda _: texts(driver, PROMPTS) == seen["prompts"], unlike)
        show_all(driver, NARROW)
        driver.save_screenshot(f"{pictures}-{NARROW}.png")
        print(json.dumps(seen))
    finally:
        driver.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
