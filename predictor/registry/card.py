"""The page that goes with a stored model."""

from __future__ import annotations

from datetime import UTC, datetime

from predictor.registry.manifest import ID_DIGITS, Manifest


def card(manifest: Manifest) -> str:
    """Return what is said of a model for people, as Markdown."""
    signature, training, versions = manifest.signature, manifest.training, manifest.versions
    windows = ", ".join(str(one) for one in signature.windows_s)
    wrote = f"foreslice {versions.foreslice}, scikit-learn {versions.scikit_learn}, numpy {versions.numpy}"
    lines = [
        f"# {manifest.name}",
        "",
        f"Quantiles of the {signature.target} of demand ahead, relative to where demand stands.",
        "",
        f"- learnt from {training.series} series, {_day(training.from_s)} to {_day(training.until_s)}",
        f"- fingerprint of what it learnt from: {training.data[:ID_DIGITS]}",
        f"- takes {len(signature.features)} features of {signature.step_s} s steps; windows of {windows} s",
        f"- written {_day(manifest.made_s)} by {wrote}",
        "",
        "Losses are mean pinball loss over mean demand, on windows that it had not seen.",
        "",
        "| window s | quantile | windows | coverage | loss | loss of others |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for score in manifest.scores:
        others = ", ".join(f"{loss.method} {loss.pinball:.4f}" for loss in score.rivals)
        lines.append(
            f"| {score.window_s} | {score.quantile} | {score.windows} | {score.coverage:.1%} | "
            f"{score.pinball:.4f} | {others} |"
        )
    return "\n".join(lines) + "\n"


def _day(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
