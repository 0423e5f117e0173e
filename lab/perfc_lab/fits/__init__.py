"""Scripts that write shipped numbers from measured rows: ``python -m perfc_lab.fits.NAME``."""
