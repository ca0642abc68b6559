# The service of audiosim: see docs/deployment.md.
FROM python:3.13-slim AS build

WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY audiosim audiosim
COPY service service
COPY models models
COPY fixtures fixtures
RUN python -m venv /opt/audiosim \
    && /opt/audiosim/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ".[all,formats,postgres]"

FROM python:3.13-slim

RUN useradd --uid 10001 --user-group --no-log-init --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin audiosim \
    && install -d -o audiosim -g audiosim /data
COPY --from=build /opt/audiosim /opt/audiosim

# The root may be read-only: the service writes only to /data (an SQLite database) and /tmp.
ENV PATH=/opt/audiosim/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/tmp/numba \
    AUDIOSIM_HOST=0.0.0.0 \
    AUDIOSIM_PORT=8000 \
    AUDIOSIM_LOG=json

USER 10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health/ready', timeout=2)"]
ENTRYPOINT ["audiosim"]
CMD ["serve"]
